// Sets the clocks of the program that loads this forward. The file $CLOCKS has two numbers of seconds: for the wall clock and
// the clock since boot, and for the monotonic clock, which stands still while the computer sleeps.
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
