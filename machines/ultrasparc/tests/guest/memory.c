/* Memory: mappings of all kinds, the break; then the environment, the clocks and the machine. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf env;
static void jump(int signal) { siglongjmp(env, signal); }
static int reads(volatile char *p) { return sigsetjmp(env, 1) ? -1 : *p; }
static int writes(volatile char *p) { return sigsetjmp(env, 1) ? -1 : (*p = 1); }

int main(int argc, char **argv) {
    signal(SIGSEGV, jump);
    signal(SIGBUS, jump);
    long page = sysconf(_SC_PAGESIZE);
    printf("page %ld aux %lu\n", page, getauxval(AT_PAGESZ));
    char *m = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(m, 7, 4 * page);
    printf("mprotect %d", mprotect(m + page, page, PROT_READ));
    printf(" %d %d\n", reads(m + page), writes(m + page));
    printf("munmap %d", munmap(m + 2 * page, page));
    printf(" %d %d\n", reads(m + 2 * page), reads(m + 3 * page));
    printf("mlock %d %d", mlock(m + 3 * page + 100, 100), mlock(m + page + 100, page));
    printf(" %d %d\n", munlock(m + 3 * page + page - 1, 1), msync(m + 100, 100, MS_SYNC));
    printf("fixed %d", mmap(m, page, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == m);
    printf(" %d\n", reads(m));
    char *big = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(big, "kept");
    big = mremap(big, page, 64 * page, MREMAP_MAYMOVE);
    printf("mremap %s %d\n", big, big[63 * page]);
    int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
    write(fd, "file contents", 13);
    char *private = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    private[0] = 'P';
    shared[0] = 'S';
    msync(shared, page, MS_SYNC);
    char text[20] = "";
    pread(fd, text, 19, 0);
    printf("%s|%s|%s\n", private, shared, text);
    shared[1] = 'T';
    munmap(shared, page);
    pread(fd, text, 19, 0);
    printf("%s\n", text);
    errno = 0;
    printf("odd %d", mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 100) == MAP_FAILED);
    printf(" errno %d\n", errno);
    printf("nothing %d", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    printf(" errno %d\n", errno);
    char *before = sbrk(0);
    sbrk(1000000);
    before[999999] = 1;
    printf("break %ld\n", (long)((char *)sbrk(0) - before));
    char *heap = malloc(50000000);
    memset(heap, 1, 50000000);
    printf("heap %d\n", heap[49999999]);
    free(heap);
    /* What allocators and sanitizers reserve, to use parts of it. */
    size_t reserve = 64UL << 30;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *room = mmap(NULL, reserve, PROT_NONE, flags, -1, 0);
    printf("reserved %d %d", room != MAP_FAILED, reads(room + reserve - 1));
    char *part = room + reserve / 2;
    printf(" %d %d %d", mprotect(part, page, PROT_READ | PROT_WRITE), writes(part), reads(part));
    printf(" %d %d\n", munmap(room, reserve), reads(part));
    void *far = (void *)(40UL << 30);
    printf("far %d", mmap(far, page, PROT_READ, flags | MAP_FIXED_NOREPLACE, -1, 0) == far);
    printf(" %d\n", reads(far));

    printf("argc %d last %zu\n", argc, strlen(argv[argc - 1]));
    printf("%s %s\n", getenv("COLOUR"), getenv("NOTHING") ? "set" : "unset");
    printf("uid %d secure %lu\n", getauxval(AT_UID) == getuid(), getauxval(AT_SECURE));
    struct utsname name;
    uname(&name);
    printf("%s\n", name.machine);
    struct timespec one, two, nap = {0, 20000000};
    clock_gettime(CLOCK_MONOTONIC, &one);
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &two);
    long passed = (two.tv_sec - one.tv_sec) * 1000000000 + two.tv_nsec - one.tv_nsec;
    printf("slept %d clock %d\n", passed >= 20000000, labs(time(NULL) - 1700000000) > 0);
    struct tms t;
    printf("times %d\n", times(&t) != (clock_t)-1);
    struct sysinfo info;
    printf("sysinfo %d unit %d\n", sysinfo(&info), info.mem_unit);
    printf("random %ld\n", (long)getrandom(text, 20, 0));
    printf("cpus %d\n", sysconf(_SC_NPROCESSORS_ONLN) > 0);
    return argc;
}
