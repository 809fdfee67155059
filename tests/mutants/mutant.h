/* SPDX-License-Identifier: Apache-2.0 */
/* Included by mutated sources only: PORTALD_MUTANT=N switches one on; PORTALD_MUTANT_REACHED=FILE takes the numbers that a run came to. */
#ifndef MUTANT_H
#define MUTANT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PORTALD_MUTANTS 8192

/* One of each in a program: every mutated object brings them, the linker keeps one. */
__attribute__((weak)) int portald_mutant;
__attribute__((weak)) bool portald_mutant_reached[PORTALD_MUTANTS];
__attribute__((weak)) bool portald_mutant_told;

static inline bool portald_mutant_is(int n)
{
        portald_mutant_reached[n] = true;
        return portald_mutant == n;
}

__attribute__((constructor)) static void portald_mutant_read(void)
{
        const char *n = getenv("PORTALD_MUTANT");

        portald_mutant = n ? atoi(n) : 0;
}

__attribute__((destructor)) static void portald_mutant_tell(void)
{
        const char *path = getenv("PORTALD_MUTANT_REACHED");
        int fd = path && !portald_mutant_told ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

        portald_mutant_told = true;
        if (fd < 0)
                return;
        for (int i = 0; i < PORTALD_MUTANTS; i++)
                if (portald_mutant_reached[i])
                        (void)dprintf(fd, "%d\n", i);
        (void)close(fd);
}

#endif
