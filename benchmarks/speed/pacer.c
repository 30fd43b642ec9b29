/* A chat endpoint with exact send times: one thread, epoll, a timer; every chunk is stamped at its
 * own send(). What is asked for stands in the model's name, so that any client can ask:
 *   pace-ID-RATE-CHUNKS-FIRST   CHUNKS chunks, RATE a second (0: as fast as possible, many in one
 *                               send), the first after FIRST milliseconds
 *   agent-STEPS-CHUNKS          a step of an agent: CHUNKS chunks and a call of list_files until
 *                               STEPS - 1 tool answers stand in the request, then a plain answer
 * With "stream":true the answer is a stream of server-sent events, else one body. Times of send
 * (CLOCK_MONOTONIC, ns) of each pace-… answer go to the file named on the command line as
 * "ID request headers first … last\n".  Prints "ready http://127.0.0.1:PORT".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PEERS 1024
#define BATCH 64

typedef struct {
    int fd, id, agent, stream, calls, answering, want_write;
    char *in, *out;
    size_t in_len, in_room, out_at, out_len, out_room;
    long rate, chunks, sent, prompt;
    int64_t asked, due, *stamps;
} Peer;

static Peer *peers[PEERS];
static FILE *log_file;
static int poller, timer;

static const char *WORDS[] = {"The", " report", " names", " seven", " rooms", " and", " two",
    " halls", ",", " each", " with", " a", " door", " to", " the", " garden", ".", " Its",
    " author", " counted", " them", " twice", " in", " spring"};
#define WORD_COUNT (sizeof WORDS / sizeof *WORDS)
#define CHUNK "{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":" \
    "\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"paced\",\"choices\":[{\"index\":0," \
    "\"delta\":{%s},\"logprobs\":null,\"finish_reason\":%s}]}"
#define LAST "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
#define CALL "\"tool_calls\":[{\"index\":0,\"id\":\"call_%d\",\"type\":\"function\",\"function\":" \
    "{\"name\":\"list_files\",\"arguments\":\"{}\"}}]"

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void put(Peer *p, const char *data, size_t size) {
    if (p->out_len + size > p->out_room) {
        p->out_room = (p->out_len + size) * 2;
        p->out = realloc(p->out, p->out_room);
    }
    memcpy(p->out + p->out_len, data, size);
    p->out_len += size;
}

static void event(Peer *p, const char *json) {
    char head[32];
    size_t size = strlen(json) + 8;
    put(p, head, (size_t)sprintf(head, "%zx\r\ndata: ", size));
    put(p, json, size - 8);
    put(p, "\n\n\r\n", 4);
}

static void chunk(Peer *p, const char *delta, const char *finish) {
    char json[1024];
    snprintf(json, sizeof json, CHUNK, delta, finish);
    event(p, json);
}

static void usage(Peer *p, char *json, size_t size) {
    snprintf(json, size, "\"usage\":{\"prompt_tokens\":%ld,\"completion_tokens\":%ld,"
        "\"total_tokens\":%ld}", p->prompt, p->chunks, p->prompt + p->chunks);
}

static void listen_to(Peer *p, int writing) {
    struct epoll_event e = {.events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.fd = p->fd};
    if (p->want_write != writing) epoll_ctl(poller, EPOLL_CTL_MOD, p->fd, &e);
    p->want_write = writing;
}

static void leave(Peer *p) {
    peers[p->fd] = NULL;
    close(p->fd);
    free(p->in), free(p->out), free(p->stamps), free(p);
}

/* True when everything that is due has left. */
static int flush(Peer *p) {
    while (p->out_at < p->out_len) {
        ssize_t n = send(p->fd, p->out + p->out_at, p->out_len - p->out_at, MSG_NOSIGNAL);
        if (n <= 0) {
            listen_to(p, 1);
            return 0;
        }
        p->out_at += (size_t)n;
    }
    p->out_at = p->out_len = 0;
    listen_to(p, 0);
    return 1;
}

static void finish(Peer *p) {
    char text[512], delta[256];
    int call = p->agent && p->calls < p->agent - 1;
    if (call) snprintf(delta, sizeof delta, CALL, p->calls);
    if (call) chunk(p, delta, "null");
    chunk(p, "", call ? "\"tool_calls\"" : "\"stop\"");
    int n = sprintf(text, "{\"choices\":[],\"model\":\"paced\",");
    usage(p, text + n, sizeof text - (size_t)n - 2);
    event(p, strcat(text, "}"));
    put(p, LAST, sizeof LAST - 1);
    p->answering = 0;
    if (p->stamps && log_file) {
        fprintf(log_file, "%d %lld", p->id, (long long)p->asked);
        for (long i = 0; i < p->sent; i++) fprintf(log_file, " %lld", (long long)p->stamps[i]);
        fprintf(log_file, "\n"), fflush(log_file);
    }
    flush(p);
}

static void go_on(Peer *p, int64_t at) {
    while (p->answering && !p->out_len) {
        if (p->sent >= p->chunks) {
            finish(p);
        } else if (p->rate) {
            if (p->due > at) return;
            char delta[64];
            sprintf(delta, "\"content\":\"%s\"", WORDS[p->sent % WORD_COUNT]);
            chunk(p, delta, "null");
            p->stamps[p->sent++] = now();
            p->due += 1000000000LL / p->rate;
            flush(p);
        } else {
            for (int i = 0; i < BATCH && p->sent < p->chunks; i++) {
                char delta[64];
                sprintf(delta, "\"content\":\"%s\"", WORDS[p->sent++ % WORD_COUNT]);
                chunk(p, delta, "null");
            }
            flush(p);
        }
    }
}

static void plain(Peer *p, int status, const char *body) {
    char head[160];
    put(p, head, (size_t)sprintf(head, "HTTP/1.1 %d X\r\ncontent-type: application/json\r\n"
        "content-length: %zu\r\n\r\n", status, strlen(body)));
    put(p, body, strlen(body));
    flush(p);
}

static void whole(Peer *p) {
    size_t room = (size_t)p->chunks * 12 + 1024, n = 0;
    char *body = malloc(room), call[256];
    int calling = p->agent && p->calls < p->agent - 1;
    snprintf(call, sizeof call, "," CALL, p->calls);
    n += (size_t)sprintf(body, "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,"
        "\"model\":\"paced\",\"choices\":[{\"index\":0,\"finish_reason\":\"%s\",\"message\":"
        "{\"role\":\"assistant\",\"content\":\"", calling ? "tool_calls" : "stop");
    for (long i = 0; i < p->chunks; i++)
        n += (size_t)sprintf(body + n, "%s", WORDS[i % WORD_COUNT]);
    n += (size_t)sprintf(body + n, "\"%s}}],", calling ? call : "");
    usage(p, body + n, room - n - 2);
    plain(p, 200, strcat(body, "}"));
    free(body);
}

static const char *value_of(const char *body, size_t size, const char *key) {
    const char *at = memmem(body, size, key, strlen(key));
    if (!at) return NULL;
    for (at += strlen(key); *at == ' ' || *at == ':'; at++) {}
    return at;
}

static void answer(Peer *p, char *body, size_t size) {
    long a = 0, b = 0, c = 0, d = 0;
    const char *model = value_of(body, size, "\"model\""), *at = body;
    const char *stream = value_of(body, size, "\"stream\"");
    p->prompt = (long)size / 4;
    p->asked = now(), p->sent = p->calls = 0, p->agent = 0, p->rate = 0;
    p->stream = stream && !strncmp(stream, "true", 4);
    free(p->stamps), p->stamps = NULL;
    if (model && sscanf(model, "\"agent-%ld-%ld", &a, &b) == 2) {
        p->agent = (int)a, p->chunks = b;
        while ((at = memmem(at, size - (size_t)(at - body), "\"tool_call_id\"", 14)))
            p->calls++, at += 14;
    } else if (model && sscanf(model, "\"pace-%ld-%ld-%ld-%ld", &a, &b, &c, &d) == 4) {
        p->id = (int)a, p->rate = b, p->chunks = c;
        if (b) p->stamps = malloc(sizeof(int64_t) * (size_t)(c + 1));
    } else {
        plain(p, 400, "{\"error\":{\"message\":\"unknown model\"}}");
        return;
    }
    p->due = p->asked + d * 1000000LL;
    if (!p->stream) {
        whole(p);
        return;
    }
    const char *head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        "transfer-encoding: chunked\r\n\r\n";
    put(p, head, strlen(head));
    chunk(p, "\"role\":\"assistant\",\"content\":\"\"", "null");
    flush(p);
    p->answering = 1;
    go_on(p, now());
}

/* True when one whole request was taken out of the buffer. */
static int take(Peer *p) {
    if (p->answering || !p->in_len) return 0;
    p->in[p->in_len] = 0;
    char *end = memmem(p->in, p->in_len, "\r\n\r\n", 4), *length;
    if (!end) return 0;
    *end = 0, length = strcasestr(p->in, "content-length:"), *end = '\r';
    size_t head = (size_t)(end - p->in) + 4, size = length ? strtoul(length + 15, NULL, 10) : 0;
    if (p->in_len < head + size) return 0;
    if (!strncmp(p->in, "POST", 4)) answer(p, p->in + head, size);
    else plain(p, 200, "{\"object\":\"list\",\"data\":[{\"id\":\"paced\",\"object\":\"model\"}]}");
    p->in_len -= head + size;
    memmove(p->in, p->in + head + size, p->in_len);
    return 1;
}

static void hear(Peer *p) {
    for (;;) {
        if (p->in_len + 65537 > p->in_room) {
            p->in_room = p->in_len * 2 + 131072;
            p->in = realloc(p->in, p->in_room);
        }
        ssize_t n = recv(p->fd, p->in + p->in_len, 65536, 0);
        if (n > 0) p->in_len += (size_t)n;
        else if (n < 0 && errno == EAGAIN) break;
        else { leave(p); return; }
    }
    while (take(p)) {}
}

static void greet(int door) {
    int fd, yes = 1;
    while ((fd = accept4(door, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= PEERS) { close(fd); continue; }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
        peers[fd] = calloc(1, sizeof(Peer));
        peers[fd]->fd = fd;
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static void wake_at_next(void) {
    int64_t next = 0;
    for (int fd = 0; fd < PEERS; fd++) {
        Peer *p = peers[fd];
        if (p && p->answering && !p->out_len && (!next || p->due < next)) next = p->due;
    }
    struct itimerspec when = {.it_value = {next / 1000000000LL, next % 1000000000LL}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int main(int count, char **arguments) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (count > 1) log_file = fopen(arguments[1], "w");
    if (bind(door, (struct sockaddr *)&here, size) || listen(door, 256)) return 1;
    getsockname(door, (struct sockaddr *)&here, &size);
    printf("ready http://127.0.0.1:%d\n", ntohs(here.sin_port)), fflush(stdout);
    poller = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = door}, events[64];
    epoll_ctl(poller, EPOLL_CTL_ADD, door, &e);
    e.data.fd = timer, epoll_ctl(poller, EPOLL_CTL_ADD, timer, &e);
    for (;;) {
        int n = epoll_wait(poller, events, 64, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == door) greet(door);
            Peer *p = fd == door || fd == timer ? NULL : peers[fd];
            if (p && (events[i].events & EPOLLOUT) && flush(p)) go_on(p, now());
            if (p && (events[i].events & (EPOLLIN | EPOLLHUP))) hear(p);
        }
        int64_t at = now();
        for (int fd = 0; fd < PEERS; fd++)
            if (peers[fd] && peers[fd]->answering) go_on(peers[fd], at);
        wake_at_next();
    }
}
