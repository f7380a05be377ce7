/* Runs a program one instruction at a time and prints branch records as `perf script -F ip,brstack
 * --show-mmap-events` does. A branch is a step to an address that is not the one after the instruction; as the
 * processor does not say how long an instruction is, a step forward by 1 to 15 bytes counts as no branch, unless the
 * instruction is one of those that jump.
 *
 * Usage: record_branches INTERVAL WINDOW STEPS PROGRAM [ARGUMENT...]
 * Prints a window of the last WINDOW branches after every INTERVAL branches, and ends the program after STEPS steps.
 * With a negative WINDOW, prints the call chain before each window, as frame pointers have it, and begins at the entry
 * point of the program, after the loader.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, MOST_FRAMES = 127 };

static void print_mappings(pid_t pid) {
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    if (!maps) exit(1);
    while (fgets(line, sizeof line, maps)) {
        unsigned long long start, end, offset;
        unsigned long inode;
        unsigned major, minor;
        char flags[8], name[4000] = "";
        int fields = sscanf(line, "%llx-%llx %7s %llx %x:%x %lu %3999[^\n]", &start, &end, flags, &offset, &major,
                            &minor, &inode, name);
        if (fields < 8 || !strchr(flags, 'x') || name[0] != '/') continue;
        char place[32] = "0";
        if (offset) snprintf(place, sizeof place, "0x%llx", offset);
        printf("PERF_RECORD_MMAP2 %d/%d: [0x%llx(0x%llx) @ %s %02x:%02x %lu 0]: %s %s\n", (int)pid, (int)pid, start,
               end - start, place, major, minor, inode, flags, name);
    }
    fclose(maps);
}

/* Whether the bytes of an instruction are those of a jump, call or return. */
static int may_jump(long word) {
    const unsigned char *bytes = (const unsigned char *)&word;
    int at = 0;
    while (at < 3 && (bytes[at] == 0xF2 || bytes[at] == 0xF3 || bytes[at] == 0x3E || (bytes[at] & 0xF0) == 0x40)) at++;
    unsigned char op = bytes[at], next = bytes[at + 1], extension = (next >> 3) & 7;
    return (op >= 0x70 && op <= 0x7F) || (op == 0x0F && next >= 0x80 && next <= 0x8F) || (op >= 0xE0 && op <= 0xE3) ||
           op == 0xE8 || op == 0xE9 || op == 0xEB || op == 0xC2 || op == 0xC3 ||
           (op == 0xFF && extension >= 2 && extension <= 5);
}

/* The bytes of a direct jump or call that is not taken when the next instruction follows. */
static int length(long word) {
    const unsigned char *bytes = (const unsigned char *)&word;
    int at = 0;
    while (at < 3 && (bytes[at] == 0xF2 || bytes[at] == 0xF3 || bytes[at] == 0x3E || (bytes[at] & 0xF0) == 0x40)) at++;
    unsigned char op = bytes[at];
    if ((op >= 0x70 && op <= 0x7F) || (op >= 0xE0 && op <= 0xE3)) return at + 2;
    if (op == 0x0F) return at + 6;
    return 0;
}

/* Prints a call chain, innermost address first. */
static void print_chain(pid_t pid, unsigned long long address, unsigned long long frame) {
    printf("\n");
    for (int depth = 0; depth < MOST_FRAMES; depth++) {
        printf("\t%16llx\n", address);
        errno = 0;
        unsigned long long next = ptrace(PTRACE_PEEKDATA, pid, (void *)frame, 0);
        address = ptrace(PTRACE_PEEKDATA, pid, (void *)(frame + 8), 0);
        if (errno || frame % 8 || next <= frame) break;
        frame = next;
    }
}

/* Runs to the entry point of the program. */
static void skip_loader(pid_t pid) {
    char path[64];
    unsigned long long pair[2], entry = 0;
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    FILE *values = fopen(path, "r");
    if (!values) exit(1);
    while (fread(pair, sizeof pair, 1, values) == 1)
        if (pair[0] == AT_ENTRY) entry = pair[1];
    fclose(values);
    long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, 0);
    ptrace(PTRACE_POKETEXT, pid, (void *)entry, (word & ~0xFFL) | 0xCC);
    ptrace(PTRACE_CONT, pid, 0, 0);
    int status;
    waitpid(pid, &status, 0);
    ptrace(PTRACE_POKETEXT, pid, (void *)entry, word);
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, pid, 0, &registers)) exit(1);
    registers.rip = entry;
    ptrace(PTRACE_SETREGS, pid, 0, &registers);
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    long interval = atol(argv[1]), window = atol(argv[2]), steps = atol(argv[3]);
    int has_chains = window < 0;
    if (has_chains) window = -window;
    if (window < 1 || window > MOST || interval < 1) return 2;
    pid_t pid = fork();
    if (pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        if (!freopen("/dev/null", "w", stdout)) _exit(126);
        execv(argv[4], argv + 4);
        _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    if (!WIFSTOPPED(status)) return 1;
    if (has_chains) skip_loader(pid);
    uint64_t from[MOST], to[MOST];
    long branches = 0;
    unsigned long long before = 0;
    long word = 0;
    int signal = 0, is_mapped = 0;
    for (long step = 0; step < steps; step++) {
        struct user_regs_struct registers;
        if (ptrace(PTRACE_GETREGS, pid, 0, &registers)) break;
        unsigned long long now = registers.rip;
        if (before && may_jump(word)) {
            int own = length(word);
            if (!own || now != before + own) {
                from[branches % window] = before;
                to[branches % window] = now;
                branches++;
                if (branches >= window && branches % interval == 0) {
                    if (!is_mapped) print_mappings(pid);
                    is_mapped = 1;
                    if (has_chains) print_chain(pid, now, registers.rbp);
                    else printf("%16llx", now);
                    for (long at = 1; at <= window; at++) {
                        long entry = (branches - at) % window;
                        printf(" 0x%llx/0x%llx/P/-/-/1 ", (unsigned long long)from[entry], (unsigned long long)to[entry]);
                    }
                    printf("\n");
                }
            }
        }
        before = now;
        errno = 0;
        word = ptrace(PTRACE_PEEKTEXT, pid, (void *)now, 0);
        if (errno) word = 0;
        if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal)) break;
        if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) break;
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    }
    ptrace(PTRACE_KILL, pid, 0, 0);
    return 0;
}
