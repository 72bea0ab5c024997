/* Files and directories: what calls answer, and the errors they name. Runs in an empty directory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOW(call) do { errno = 0; long r = (long)(call); printf("%s = %ld, errno %d\n", #call, r, errno); } while (0)

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void list(const char *name) {
    DIR *dir = opendir(name);
    char *names[64];
    int count = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) && count < 64;) {
        char text[300];
        snprintf(text, sizeof text, "%s:%d", e->d_name, e->d_type);
        names[count++] = strdup(text);
    }
    qsort(names, count, sizeof *names, compare);
    for (int i = 0; i < count; i++) printf("%s ", names[i]);
    printf("\n");
    if (dir) closedir(dir);
}

static void show_stat(const char *name) {
    struct stat s;
    if (lstat(name, &s) != 0) { printf("%s: errno %d\n", name, errno); return; }
    printf("%s: mode %o links %ld size %ld mtime %ld.%09ld uid %d\n", name, s.st_mode, (long)s.st_nlink, (long)s.st_size,
           S_ISLNK(s.st_mode) ? 0 : (long)s.st_mtim.tv_sec, S_ISLNK(s.st_mode) ? 0 : (long)s.st_mtim.tv_nsec, s.st_uid == getuid());
}

int main(void) {
    umask(022);
    SHOW(open("nothing", O_RDONLY));
    int fd = open("a", O_RDWR | O_CREAT | O_EXCL, 0640);
    printf("fd %d\n", fd);
    SHOW(open("a", O_WRONLY | O_CREAT | O_EXCL, 0600));
    SHOW(write(fd, "hello, world", 12));
    SHOW(lseek(fd, -5, SEEK_CUR));
    char text[100] = "";
    SHOW(read(fd, text, 100));
    printf("%s\n", text);
    SHOW(pwrite(fd, "J", 1, 0));
    SHOW(pread(fd, text, 5, 0));
    printf("%.5s\n", text);
    SHOW(lseek(fd, -1, SEEK_SET));
    printf("flags %x\n", fcntl(fd, F_GETFL) & ~0x40000);
    SHOW(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
    printf("flags %x\n", fcntl(fd, F_GETFL) & ~0x40000);
    SHOW(write(fd, "!", 1));
    struct iovec v[3] = {{"one ", 4}, {"", 0}, {"two", 3}};
    SHOW(writev(fd, v, 3));
    char x[6], y[100] = "";
    struct iovec r[2] = {{x, 6}, {y, 99}};
    lseek(fd, 0, SEEK_SET);
    SHOW(readv(fd, r, 2));
    printf("%.6s|%s\n", x, y);
    SHOW(ftruncate(fd, 4));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 2};
    SHOW(fcntl(fd, F_SETLK, &lock));
    SHOW(fcntl(fd, F_GETLK, &lock));
    printf("lock %d\n", lock.l_type);
    SHOW(flock(fd, LOCK_EX | LOCK_NB));
    struct timespec times[2] = {{1000000000, 5}, {1234567890, 123456789}};
    SHOW(futimens(fd, times));
    show_stat("a");
    struct timeval tv[2] = {{1, 2}, {3, 4}};
    SHOW(utimes("a", tv));
    show_stat("a");
    SHOW(symlink("a", "l"));
    SHOW(readlink("l", text, 100));
    SHOW(readlink("a", text, 100));
    show_stat("l");
    SHOW(link("a", "b"));
    show_stat("a");
    SHOW(rename("b", "c"));
    SHOW(mkdir("d", 0755));
    SHOW(mkdir("d", 0755));
    SHOW(rmdir("nothing"));
    SHOW(mkdirat(AT_FDCWD, "d/e", 0700));
    SHOW(rmdir("d"));
    list(".");
    SHOW(chdir("d"));
    SHOW(strcmp(strrchr(getcwd(NULL, 0), '/'), "/d"));
    SHOW(open("../a/b", O_RDONLY));
    SHOW(open("e", O_WRONLY));
    SHOW(chdir(".."));
    SHOW(open("l", O_RDONLY | O_NOFOLLOW));
    SHOW(access("a", R_OK | W_OK));
    SHOW(chmod("a", 0400));
    show_stat("a");
    struct statx sx;
    SHOW(statx(AT_FDCWD, "a", 0, STATX_BASIC_STATS, &sx));
    printf("statx mode %o size %ld links %d\n", sx.stx_mode, (long)sx.stx_size, sx.stx_nlink);
    int copy = open("copy", O_WRONLY | O_CREAT, 0600);
    off_t at = 1;
    SHOW(sendfile(copy, fd, &at, 100));
    printf("at %ld\n", (long)at);
    show_stat("a");
    struct statfs f;
    SHOW(statfs(".", &f));
    printf("block size %d\n", f.f_bsize > 0 && f.f_namelen == 255);
    int two = dup2(fd, 20);
    printf("dup2 %d cloexec %d\n", two, fcntl(two, F_GETFD));
    SHOW(dup3(fd, 21, O_CLOEXEC));
    printf("cloexec %d\n", fcntl(21, F_GETFD));
    SHOW(close(20));
    SHOW(close(20));
    SHOW(ftruncate(21, -1));
    SHOW(read(21, (void *)8, 1));
    SHOW(isatty(fd));
    char name[5000];
    memset(name, 'x', 4999);
    name[4999] = 0;
    SHOW(open(name, O_RDONLY));
    name[300] = 0;
    SHOW(open(name, O_RDONLY));
    SHOW(symlink("loop", "loop"));
    SHOW(open("loop", O_RDONLY));
    SHOW(unlink("a"));
    SHOW(unlink("d"));
    list(".");
    return 0;
}
