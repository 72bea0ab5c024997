/*
 * Carries packets between a TUN device and a socket of UDP with the system calls of a tunnel and no cryptography: what `bench/esp.py` holds
 * tunnels against. A long packet of the device (IFF_VNET_HDR) goes to the other end as datagrams of one length in one call, and comes out there
 * as it was. The device must have a gso_max_size below 65000.
 *
 *     bare DEVICE OWN PEER PORT BYTES
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static int device, wire, segment;

static void *arriving(void *unused)
{
	static char room[65600];
	for (;;) {
		ssize_t length = recv(wire, room, sizeof(room), 0);
		if (length > 0 && write(device, room, length) < 0)
			warn("write of %zd bytes", length);
	}
	return unused;
}

static int open_device(const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
	int opened = open("/dev/net/tun", O_RDWR);
	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	if (opened < 0 || ioctl(opened, TUNSETIFF, &request) < 0)
		err(1, "%s", name);
	if (ioctl(opened, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | 0x60) < 0)
		err(1, "%s: offloads", name);
	return opened;
}

static int open_wire(const char *own, const char *peer, int port)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)}, there = here;
	int on = 1, kept = 4 << 20, opened = socket(AF_INET, SOCK_DGRAM, 0);
	inet_pton(AF_INET, own, &here.sin_addr);
	inet_pton(AF_INET, peer, &there.sin_addr);
	setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &kept, sizeof(kept));
	setsockopt(opened, SOL_SOCKET, SO_SNDBUF, &kept, sizeof(kept));
	setsockopt(opened, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	if (bind(opened, (void *)&here, sizeof(here)) < 0 || connect(opened, (void *)&there, sizeof(there)) < 0)
		err(1, "%s to %s", own, peer);
	return opened;
}

int main(int count, char **words)
{
	static char room[65600];
	pthread_t thread;
	if (count != 6)
		errx(2, "bare DEVICE OWN PEER PORT BYTES");
	device = open_device(words[1]);
	wire = open_wire(words[2], words[3], atoi(words[4]));
	segment = atoi(words[5]);
	pthread_create(&thread, NULL, arriving, NULL);
	for (;;) {
		char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
		ssize_t length = read(device, room, sizeof(room));
		if (length <= 0)
			continue;
		struct iovec part = {room, length};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
		if (length > segment) {
			message.msg_control = control;
			message.msg_controllen = sizeof(control);
			struct cmsghdr *head = CMSG_FIRSTHDR(&message);
			*head = (struct cmsghdr){CMSG_LEN(sizeof(uint16_t)), IPPROTO_UDP, UDP_SEGMENT};
			*(uint16_t *)CMSG_DATA(head) = segment;
		}
		if (sendmsg(wire, &message, 0) < 0)
			warn("send of %zd bytes", length);
	}
}
