/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's floors, measured before anything of ours: memory copy and read, a synced small write, a synced large one.
 *   floors DIR [sync]     prints one JSON object (sync: only the small writes); DIR is on the file system that the stores under test use */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BIG (256u << 20)
#define SYNCS 400
#define PAGE 4096

static _Noreturn void die(const char *what)
{
        fprintf(stderr, "floors: %s: %s\n", what, strerror(errno));
        exit(1);
}

static int64_t now_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long long mb_per_s(uint64_t bytes, int64_t ns)
{
        return (long long)(bytes * 1000 / (uint64_t)(ns > 0 ? ns : 1));
}

static int by_value(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

/* The best of five: a floor is what the machine can do, not what it did while disturbed. */
static void memory(long long *ret_copy, long long *ret_read)
{
        uint64_t *from = malloc(BIG), *to = malloc(BIG), sum = 0;
        volatile uint64_t sink;

        if (!from || !to)
                die("memory");
        memset(from, 1, BIG);
        memset(to, 2, BIG);
        *ret_copy = *ret_read = 0;
        for (int round = 0; round < 5; round++) {
                int64_t at = now_ns(), copied;

                memcpy(to, from, BIG);
                copied = now_ns();
                for (size_t i = 0; i < BIG / sizeof *to; i++)
                        sum += to[i];
                sink = sum;
                (void)sink;
                if (mb_per_s(BIG, copied - at) > *ret_copy)
                        *ret_copy = mb_per_s(BIG, copied - at);
                if (mb_per_s(BIG, now_ns() - copied) > *ret_read)
                        *ret_read = mb_per_s(BIG, now_ns() - copied);
        }
        free(from);
        free(to);
}

/* p50 of write + fdatasync of `bytes`: over the same place (the file's size stays), or each behind the last (it grows). */
static long long sync_p50_us(const char *path, size_t bytes, int append, long long *ret_p99)
{
        static int64_t took[SYNCS];
        static char page[PAGE * 16];
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || pwrite(fd, page, bytes, 0) < 0 || fsync(fd) < 0)
                die(path);
        for (int i = 0; i < SYNCS; i++) {
                int64_t at = now_ns();

                memset(page, i, bytes);
                if (pwrite(fd, page, bytes, append ? (off_t)((size_t)(i + 1) * bytes) : 0) != (ssize_t)bytes ||
                        fdatasync(fd) < 0)
                        die(path);
                took[i] = now_ns() - at;
        }
        (void)close(fd);
        (void)unlink(path);
        qsort(took, SYNCS, sizeof *took, by_value);
        *ret_p99 = (long long)(took[SYNCS * 99 / 100] / 1000);
        return (long long)(took[SYNCS / 2] / 1000);
}

static long long write_sync(const char *path)
{
        static char block[1 << 20];
        int64_t at = now_ns();
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        for (size_t n = 0; fd >= 0 && n < BIG; n += sizeof block) {
                memset(block, (int)(n >> 20), sizeof block);
                if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
                        die(path);
        }
        if (fd < 0 || fdatasync(fd) < 0)
                die(path);
        at = now_ns() - at;
        (void)close(fd);
        (void)unlink(path);
        return mb_per_s(BIG, at);
}

int main(int argc, char **argv)
{
        long long copy, read_, over, over99, append, append99;
        char path[4096];

        if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "sync") != 0))
                return 2;
        (void)snprintf(path, sizeof path, "%s/floor", argv[1]);
        over = sync_p50_us(path, PAGE, 0, &over99);
        append = sync_p50_us(path, PAGE, 1, &append99);
        printf("{\"fdatasync_overwrite_p50_us\":%lld,\"fdatasync_overwrite_p99_us\":%lld,\"fdatasync_append_p50_us\":%"
               "lld,"
               "\"fdatasync_append_p99_us\":%lld",
                over, over99, append, append99);
        if (argc == 2) {
                memory(&copy, &read_);
                printf(",\"memcpy_mb_s\":%lld,\"memory_read_mb_s\":%lld,\"write_sync_mb_s\":%lld", copy, read_,
                        write_sync(path));
        }
        printf("}\n");
        return 0;
}
