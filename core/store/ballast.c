/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/place.h"

bool ballast_hold(const char *path, uint64_t bytes)
{
        struct stat st;
        pd_cleanup(closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0 || fstat(fd, &st) < 0)
                return false;
        /* blocks are held, not promised: a sparse file would be no ballast */
        if (posix_fallocate(fd, 0, (off_t)bytes) == 0) {
                if (st.st_size > (off_t)bytes)
                        (void)!ftruncate(fd, (off_t)bytes);
                return true;
        }
        (void)unlink(path); /* half a ballast would only be in the way */
        return false;
}

bool ballast_drop(const char *path)
{
        return unlink(path) == 0;
}
