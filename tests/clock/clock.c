/* Preloaded into a program under test: shifts its time of day by what a file says, which may change at any time. Durations
 * stay as they are. It neither allocates nor looks up symbols, so it works in a program that has its own allocator. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

/* In nanoseconds, in the byte order of the machine. */
static const volatile int64_t *offset;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("TEST_CLOCK_FILE");
    if (path == NULL)
        return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        abort();
    void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED)
        abort();
    offset = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed != 0 || offset == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    int64_t shifted = now->tv_sec * (int64_t)NS_PER_S + now->tv_nsec + *offset;
    now->tv_sec = shifted / NS_PER_S;
    now->tv_nsec = shifted % NS_PER_S;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    if (failed == 0)
        *now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
    return failed;
}

time_t time(time_t *now)
{
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0)
        return -1;
    if (now != NULL)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
