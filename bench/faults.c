/* Faults: system calls that fail on purpose, in every process that loads this library.
 *
 * Calls that change a file below one folder are counted in a page that all processes share. The one
 * with the chosen number dies, fails, or writes only half; on a full disk all later ones fail, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { COUNT, KILL, BROKEN, FULL, SHORT };
struct page { volatile int64_t at, count, mode, hits; char below[4000]; };
static struct page *page;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_PAGE");
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *found = mmap(0, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (found != MAP_FAILED) page = found;
}

static int is_below(const char *path) {
  return page && page->below[0] && path && !strncmp(path, page->below, strlen(page->below));
}

static int is_below_fd(int fd) {
  char link[40], path[4096];
  if (!page || !page->below[0]) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return is_below(path);
}

/* 0: go on; SHORT: write half of it; otherwise errno is set, and the call fails */
static int step(void) {
  int64_t now = __atomic_add_fetch(&page->count, 1, __ATOMIC_SEQ_CST);
  int chosen = now == page->at, later = page->at && now > page->at;
  if (!chosen && !(later && page->mode == FULL)) return 0;
  if (page->mode == COUNT) return 0;
  page->hits++;
  if (page->mode == KILL) kill(getpid(), SIGKILL);
  if (page->mode == SHORT) return SHORT;
  errno = page->mode == FULL ? ENOSPC : EIO;
  return page->mode;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  if (!is_below_fd(fd)) return real(fd, data, size);
  if (page->mode == KILL && page->count + 1 == page->at && size > 1) real(fd, data, size / 2);
  int found = step();
  if (found == SHORT) return real(fd, data, size > 1 ? size / 2 : size);
  return found ? -1 : real(fd, data, size);
}

#define PWRITE(name, offset) \
  ssize_t name(int fd, const void *data, size_t size, offset at) { \
    REAL(name); \
    if (!is_below_fd(fd)) return real(fd, data, size, at); \
    int found = step(); \
    if (found == SHORT) return real(fd, data, size > 1 ? size / 2 : size, at); \
    return found ? -1 : real(fd, data, size, at); \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define BY_FD(name, parameters, arguments, fd) \
  int name parameters { \
    REAL(name); \
    int found = is_below_fd(fd) ? step() : 0; \
    return found && found != SHORT ? -1 : real arguments; \
  }
BY_FD(fsync, (int fd), (fd), fd)
BY_FD(fdatasync, (int fd), (fd), fd)

/* making room never fails for want of it, but may be where a process dies */
#define BY_PATH(name, parameters, arguments, path, makes_room) \
  int name parameters { \
    REAL(name); \
    int found = is_below(path) && !(makes_room && page->mode == FULL) ? step() : 0; \
    return found && found != SHORT ? -1 : real arguments; \
  }
BY_PATH(rename, (const char *a, const char *b), (a, b), b, 0)
BY_PATH(mkdir, (const char *a, mode_t m), (a, m), a, 0)
BY_PATH(link, (const char *a, const char *b), (a, b), b, 0)
BY_PATH(unlink, (const char *a), (a), a, 1)

#define MAKES (O_CREAT | O_TRUNC)
#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
    int found = flags & MAKES && is_below(path) ? step() : 0; \
    return found && found != SHORT ? -1 : real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
