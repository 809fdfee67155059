/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as HTTP says them. */
#include "api/parse.h"

unsigned api_status_of(enum pd_code code)
{
        static const uint16_t status[] = {
                [PD_OK] = 200,
                [PD_E_INVALID] = 400,
                [PD_E_PERM] = 403,
                [PD_E_AUTH] = 403,
                [PD_E_NOT_FOUND] = 404,
                [PD_E_CONFLICT] = 409,
                [PD_E_REFUSED] = 409,
                [PD_E_GONE] = 410,
                [PD_E_QUOTA] = 503,
                [PD_E_CAPACITY] = 503,
                [PD_E_FULL] = 503,
                [PD_E_BUSY] = 503,
                [PD_E_THROTTLED] = 503,
                [PD_E_TRANSIENT] = 503,
                [PD_E_DEADLINE] = 504,
        };

        return (size_t)code < ARRAY_LEN(status) && status[code] ? status[code] : 500;
}

json_t *api_error_json(const struct pd_error *err)
{
        return json_pack("{s:o}", "error", js_from_error(err)); /* which makes any text valid */
}
