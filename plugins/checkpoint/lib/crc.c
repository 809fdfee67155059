/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 (IEEE 802.3, reflected), as zlib's crc32(). It finds torn and flipped bytes between the job and us; against anybody's will
 * portald seals the checkpoint with a MAC. */
#include "capture.h"

#define STEP(c_) (((c_) >> 1) ^ (UINT32_C(0xEDB88320) & (0u - ((c_)&1u))))

uint32_t capture_crc(uint32_t crc, const void *data, size_t n)
{
        uint32_t table[256];
        const unsigned char *p = data;

        /* 256 steps a call of up to 1 MiB: cheaper than state that calls on two threads would share */
        for (uint32_t i = 0; i < 256; i++) {
                uint32_t c = i;

                for (int k = 0; k < 8; k++)
                        c = STEP(c);
                table[i] = c;
        }
        crc = ~crc;
        for (size_t i = 0; i < n; i++)
                crc = table[(crc ^ p[i]) & 0xff] ^ (crc >> 8);
        return ~crc;
}
