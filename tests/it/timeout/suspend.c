// Moves the clocks of the programs that load this: the file $CLOCKS has the seconds by which the clock on the wall is ahead, and
// by which the one that stands still while the computer sleeps is. Ahead of only the former is what a program finds after a sleep.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    long status = syscall(SYS_clock_gettime, id, now);
    const char *path = getenv("CLOCKS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (status != 0 || file < 0) return status;
    char text[64] = {0}, *rest = text;
    if (read(file, text, sizeof text - 1) < 0) abort();
    close(file);
    long wall = strtol(text, &rest, 10), awake = strtol(rest, NULL, 10);
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
    case CLOCK_BOOTTIME:
        now->tv_sec += wall;
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
        now->tv_sec += awake;
    }
    return 0;
}
