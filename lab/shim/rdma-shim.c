/*
 * Preload library that stands in for the kernel's NETLINK_RDMA: it answers the requests of rdma(8) from a recording.
 *
 * RDMA_SHIM names the recording: a line a datagram in hexadecimal, "> " sent and "< " received, as in
 * tests/data/fixtures. A request is answered with what follows the first recorded request that equals it and was not
 * used yet, else the first that equals it, else with EINVAL. Sequence and port numbers become those of the request.
 * Notifications come once, when a reader has nothing else to read; then reading fails, which ends the monitor.
 *
 * RDMA_SHIM_LOG names a file that every request is added to, in the same form.
 *
 * Process N is called procN; every fifth one is gone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/netlink.h>

#define DUMP (NLM_F_ROOT | NLM_F_MATCH)
#define DRIVER_DETAILS 97	/* RDMA_NLDEV_ATTR_DRIVER_DETAILS: 0 is the same as none */
#define NEXT(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

struct datagram {
	unsigned char *data;
	size_t len;
	int sent, used;
};

/* RDMA_NLDEV_CMD_MONITOR of RDMA_NL_NLDEV. */
#define NOTIFICATION 0x141c

static struct datagram *recording, *queue;
static size_t recorded, queued, taken;
static int socket_fd = -1;

static size_t unhex(const char *text, unsigned char *out)
{
	size_t len = 0;
	unsigned byte;

	for (; sscanf(text, "%2x", &byte) == 1; text += 2)
		out[len++] = byte;
	return len;
}

static void load(void)
{
	const char *path = getenv("RDMA_SHIM");
	FILE *file = path ? NEXT(fopen)(path, "re") : NULL;
	char *line = NULL;
	size_t size = 0;

	if (recording || !file)
		return;
	while (getline(&line, &size, file) > 0) {
		struct datagram *one;

		if ((line[0] != '<' && line[0] != '>') || line[1] != ' ')
			continue;
		recording = realloc(recording, (recorded + 1) * sizeof(*recording));
		one = &recording[recorded++];
		one->data = malloc(size);
		one->len = unhex(line + 2, one->data);
		one->sent = line[0] == '>';
		one->used = 0;
	}
	free(line);
	fclose(file);
}

static const struct nlattr *attribute(const unsigned char *data, size_t len, size_t *at)
{
	const struct nlattr *found = (const void *)(data + *at);

	if (*at + NLA_HDRLEN > len || found->nla_len < NLA_HDRLEN || *at + found->nla_len > len)
		return NULL;
	*at += NLA_ALIGN(found->nla_len);
	return found;
}

/* Whether all attributes of a are in b, the order left aside. */
static int within(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len)
{
	const struct nlattr *one, *other;

	for (size_t at = NLMSG_HDRLEN; (one = attribute(a, a_len, &at));) {
		if (one->nla_type == DRIVER_DETAILS && !*((const char *)one + NLA_HDRLEN))
			continue;
		for (size_t in = NLMSG_HDRLEN; (other = attribute(b, b_len, &in));)
			if (one->nla_len == other->nla_len && !memcmp(one, other, one->nla_len))
				break;
		if (!other)
			return 0;
	}
	return 1;
}

static int same(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len)
{
	const struct nlmsghdr *one = (const void *)a, *other = (const void *)b;

	return a_len >= sizeof(*one) && b_len >= sizeof(*one) && one->nlmsg_type == other->nlmsg_type &&
	       !(one->nlmsg_flags & DUMP) == !(other->nlmsg_flags & DUMP) &&
	       within(a, a_len, b, b_len) && within(b, b_len, a, a_len);
}

static void push(const unsigned char *data, size_t len, unsigned seq)
{
	struct datagram *one;

	queue = realloc(queue, (queued + 1) * sizeof(*queue));
	one = &queue[queued++];
	one->data = malloc(len);
	one->len = len;
	memcpy(one->data, data, len);
	for (size_t at = 0; at + NLMSG_HDRLEN <= len;) {
		struct nlmsghdr *header = (void *)(one->data + at);

		header->nlmsg_seq = seq;
		header->nlmsg_pid = 0;
		at += NLMSG_ALIGN(header->nlmsg_len < NLMSG_HDRLEN ? NLMSG_HDRLEN : header->nlmsg_len);
	}
}

static void acknowledge(const struct nlmsghdr *request, int error)
{
	struct { struct nlmsghdr header; struct nlmsgerr error; } reply = {
		{ .nlmsg_len = sizeof(reply), .nlmsg_type = NLMSG_ERROR, .nlmsg_flags = NLM_F_CAPPED },
		{ .error = error, .msg = *request },
	};

	push((void *)&reply, sizeof(reply), request->nlmsg_seq);
}

static int is_notification(const struct datagram *one)
{
	return !one->sent && ((struct nlmsghdr *)one->data)->nlmsg_type == NOTIFICATION;
}

static void notify(void)
{
	static int told;

	if (told++)
		return;
	for (size_t at = 0; at < recorded; at++)
		if (is_notification(&recording[at]))
			push(recording[at].data, recording[at].len, 0);
}

static void log_request(const unsigned char *data, size_t len)
{
	const char *path = getenv("RDMA_SHIM_LOG");
	FILE *file = path ? NEXT(fopen)(path, "ae") : NULL;

	if (!file)
		return;
	fputs("> ", file);
	for (size_t at = 0; at < len; at++)
		fprintf(file, "%02x", data[at]);
	fputc('\n', file);
	fclose(file);
}

static void answer(const unsigned char *data, size_t len)
{
	const struct nlmsghdr *request = (const void *)data;
	size_t found = recorded, at;
	int has_end = 0;

	log_request(data, len);
	for (at = 0; at < recorded; at++) {
		if (!recording[at].sent || !same(data, len, recording[at].data, recording[at].len))
			continue;
		if (!recording[at].used || found == recorded)
			found = at;
		if (!recording[at].used)
			break;
	}
	if (found == recorded) {
		acknowledge(request, -EINVAL);
		return;
	}
	recording[found].used = 1;
	for (at = found + 1; at < recorded && !recording[at].sent; at++) {
		if (is_notification(&recording[at]))
			continue;
		push(recording[at].data, recording[at].len, request->nlmsg_seq);
		has_end |= ((struct nlmsghdr *)recording[at].data)->nlmsg_type == NLMSG_ERROR;
	}
	if (!(request->nlmsg_flags & DUMP) && !has_end)
		acknowledge(request, 0);
}

int socket(int domain, int type, int protocol)
{
	if (domain != AF_NETLINK || protocol != NETLINK_RDMA)
		return NEXT(socket)(domain, type, protocol);
	load();
	taken = queued;	/* What nobody read went with the last socket. */
	return socket_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	return fd == socket_fd ? 0 : NEXT(bind)(fd, address, len);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return fd == socket_fd ? 0 : NEXT(setsockopt)(fd, level, name, value, len);
}

int getsockname(int fd, struct sockaddr *address, socklen_t *len)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK, .nl_pid = 1 };

	if (fd != socket_fd)
		return NEXT(getsockname)(fd, address, len);
	memcpy(address, &own, *len < sizeof(own) ? *len : sizeof(own));
	*len = sizeof(own);
	return 0;
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	if (fd != socket_fd)
		return NEXT(sendto)(fd, data, len, flags, to, to_len);
	answer(data, len);
	return len;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct datagram *one;
	size_t len;

	if (fd != socket_fd)
		return NEXT(recvmsg)(fd, message, flags);
	if (taken == queued)
		notify();
	one = queue + taken;
	if (taken == queued) {
		errno = EAGAIN;
		return -1;
	}
	taken++;
	len = one->len < message->msg_iov->iov_len ? one->len : message->msg_iov->iov_len;
	memcpy(message->msg_iov->iov_base, one->data, len);
	if (message->msg_name)
		memcpy(message->msg_name, &kernel, sizeof(kernel));
	message->msg_namelen = sizeof(kernel);
	message->msg_flags = len < one->len ? MSG_TRUNC : 0;
	message->msg_controllen = 0;
	return len;
}

/* The names of processes. */
FILE *fopen64(const char *path, const char *mode)
{
	static char name[32];
	int pid;
	char rest;

	if (sscanf(path, "/proc/%d/com%c", &pid, &rest) != 2 || rest != 'm')
		return NEXT(fopen64)(path, mode);
	if (pid % 5 == 0) {
		errno = ENOENT;
		return NULL;
	}
	return fmemopen(name, snprintf(name, sizeof(name), "proc%d\n", pid), "r");
}
