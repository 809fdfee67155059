/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
static const char *const prefixes[] = {
        [ID_JOB] = "job_",
        [ID_MACHINE] = "mch_",
        [ID_CHECKPOINT] = "ckp_",
        [ID_INTENT] = "int_",
        [ID_DECISION] = "dec_",
        [ID_INSTALLATION] = "ins_",
};
static_assert(ARRAY_LEN(prefixes) == ID_KIND_N, "each kind has its prefix");

const char *id_prefix(enum id_kind kind)
{
        return prefixes[kind];
}

struct id id_make(int64_t wall_us, const uint8_t random[10])
{
        struct id id;
        uint64_t ms = (uint64_t)(wall_us / 1000);
        /* RFC 9562 6.2 method 3: the sub-millisecond part in rand_a keeps ids of one loop turn in order */
        uint64_t fraction = (uint64_t)(wall_us % 1000) * 4096 / 1000;

        for (int i = 0; i < 6; i++)
                id.b[i] = (uint8_t)(ms >> (40 - 8 * i));
        id.b[6] = (uint8_t)(0x70 | (fraction >> 8));
        id.b[7] = (uint8_t)fraction;
        memcpy(id.b + 8, random, 8);
        id.b[8] = (uint8_t)(0x80 | (id.b[8] & 0x3f));
        return id;
}

/* 128 bits in 26 characters of 5: the first holds the top 3. */
static unsigned int five_bits(struct id id, int i)
{
        int from = i * 5 - 2; /* first bit, may be negative for i = 0 */
        unsigned int v = 0;

        for (int k = 0; k < 5; k++) {
                int bit = from + k;

                v <<= 1;
                if (bit >= 0)
                        v |= ((unsigned int)id.b[bit / 8] >> (7 - bit % 8)) & 1U;
        }
        return v;
}

char *id_format(enum id_kind kind, struct id id, char *buf)
{
        size_t n = strlen(prefixes[kind]);

        memcpy(buf, prefixes[kind], n);
        for (int i = 0; i < 26; i++)
                buf[n + (size_t)i] = alphabet[five_bits(id, i)];
        buf[n + 26] = '\0';
        return buf;
}

bool id_parse(enum id_kind kind, const char *text, struct id *ret)
{
        size_t n = strlen(prefixes[kind]);
        struct id id = { { 0 } };

        if (strncmp(text, prefixes[kind], n) != 0 || strlen(text) != n + 26)
                return false;
        for (int i = 0; i < 26; i++) {
                const char *at = memchr(alphabet, text[n + (size_t)i], sizeof alphabet - 1);
                unsigned int v;

                if (!at)
                        return false;
                v = (unsigned int)(at - alphabet);
                if (i == 0 && v > 7)
                        return false;
                for (int k = 0; k < 5; k++) {
                        int bit = i * 5 - 2 + k;

                        if (bit >= 0 && (v >> (4 - k) & 1))
                                id.b[bit / 8] |= (uint8_t)(1U << (7 - bit % 8));
                }
        }
        *ret = id;
        return true;
}

bool id_matches(enum id_kind kind, struct id id, const char *text)
{
        char buf[ID_TEXT_MAX];
        size_t n = strlen(prefixes[kind]);

        if (str_starts(text, prefixes[kind]))
                text += n;
        if (strlen(text) < 4)
                return false;
        return str_starts(id_format(kind, id, buf) + n, text);
}
