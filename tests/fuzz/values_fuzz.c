/* SPDX-License-Identifier: Apache-2.0 */
/* What a job's program may write to the capture `values`: answers, manifests, durations. The first byte chooses. */
#include "../../plugins/checkpoint/values/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Manifests of the corpus carry the checksum 00000000: the fuzzer need not find one. */
static uint32_t no_crc(uint32_t crc, const void *data, size_t n)
{
        (void)crc, (void)data, (void)n;
        return 0;
}

static void check(int good)
{
        if (!good)
                abort();
}

static void one_answer(const char *text, size_t n)
{
        struct wire_answer a;
        struct pd_error err;

        if (wire_answer_parse(text, n, &a, &err) < 0) {
                check(err.code != PD_OK && err.text[0]);
                return;
        }
        check(a.kind != WIRE_VALUE || (*a.path && a.type && a.reason && a.fix));
        check(a.kind != WIRE_END || (a.ok == (a.code == PD_OK) && a.freeze_us >= 0));
        wire_answer_clear(&a);
}

static void one_manifest(const char *text, size_t n)
{
        struct wire_manifest m;
        struct pd_error err;

        if (wire_manifest_parse(text, n, no_crc, &m, &err) < 0) {
                check(err.code == PD_E_CORRUPT && err.text[0]);
                return;
        }
        check(m.n > 0 && *m.save);
        for (size_t i = 0; i < m.n; i++)
                check(!strchr(m.files[i].name, '/') && m.files[i].name[0] != '.' && *m.files[i].name);
        wire_manifest_clear(&m);
}

static void one_duration(const char *text, size_t n)
{
        char *copy = strndup(text, n);
        int64_t us = -1;

        check(!copy || !wire_duration(copy, &us) || (us >= 0 && us <= INT64_C(30) * 86400 * 1000000));
        free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        char request[64];
        char *copy;

        if (n == 0)
                return 0;
        copy = malloc(n); /* of its exact size, so that a byte too far is seen */
        if (!copy)
                return 0;
        memcpy(copy, data + 1, n - 1);
        if (data[0] == 'a')
                one_answer(copy, n - 1);
        else if (data[0] == 'm')
                one_manifest(copy, n - 1);
        else if (data[0] == 'd')
                one_duration(copy, n - 1);
        else
                check(wire_request(request, n < sizeof request ? n : sizeof request, "save", (int64_t)n) == (n >= 30));
        free(copy);
        return 0;
}
