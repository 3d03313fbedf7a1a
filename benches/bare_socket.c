/* The floor that row d is measured against: bytes that were prepared beforehand go out, and an answer
 * comes in, in the quickest way for the kind of socket. On a unix socket that is to wait in poll(2)
 * before recv(2), on TCP to wait in recv(2). No parsing, no clock, no deadline, nothing of PHP. */
#include <poll.h>
#include <sys/socket.h>

/* Sends `command` and receives one answer, `times` times over. 0: an answer was an error or none. */
int exchange(int fd, int waits_in_poll, const char *command, long length, long times)
{
    char answer[512];
    struct pollfd waiting = { .fd = fd, .events = POLLIN };

    while (times-- > 0) {
        if (send(fd, command, length, MSG_NOSIGNAL) != length)
            return 0;
        if (waits_in_poll && poll(&waiting, 1, 1000) != 1)
            return 0;
        if (recv(fd, answer, sizeof answer, 0) <= 0 || answer[0] != '$')
            return 0;
    }
    return 1;
}
