/* SPDX-License-Identifier: Apache-2.0 */
/* What a spot machine's notice can save (P-05, P-06). Values only and in this header alone, so that placement and policy use one formula without
 * linking the room. Includes base only. */
#ifndef MARKET_NOTICE_H
#define MARKET_NOTICE_H

#include "base/base.h"

struct market_notice {
        int64_t notice_us;        /* warning before a reclaim; 0 = none given                                     */
        int64_t save_bytes_s;     /* of a job's state, to the committed store, as learned there; 0 = never used    */
        int64_t provider_bytes_s; /* the lowest rate learned for its provider, for an offer never used; 0 = none   */
        int64_t detect_us;        /* until the runner knows of the notice                                         */
        int64_t freeze_us;        /* until the job stands still                                                   */
};

#define MARKET_SPAN_MAX (INT64_C(36500) * USEC_PER_DAY) /* longer spans count as this: products stay within 128 bits */
#define MARKET_TENTHS_A_SECOND 10000000                 /* of a microsecond */
static inline int64_t market_span(int64_t us)
{
        return us < 0 ? 0 : us > MARKET_SPAN_MAX ? MARKET_SPAN_MAX : us;
}

/* rate x (0.8 x notice - detection - freeze), never below 0; exact, rounded down once. false = no rate was learned: nobody knows. */
static inline bool market_can_save(const struct market_notice *n, uint64_t *ret_bytes)
{
        int64_t rate = n->save_bytes_s > 0 ? n->save_bytes_s : n->provider_bytes_s;
        int64_t tenths = market_span(n->notice_us) * 8 -
                         (market_span(n->detect_us) + market_span(n->freeze_us)) * 10; /* of a us */
        unsigned __int128 bytes;

        if (rate <= 0)
                return false;
        bytes = tenths > 0 ? (unsigned __int128)tenths * (uint64_t)rate / MARKET_TENTHS_A_SECOND : 0;
        *ret_bytes = bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
        return true;
}

#endif
