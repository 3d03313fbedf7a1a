/*
 * A stand-in for LiteSpeed's lsphp, over PHP's embed library, for tests: what lsphp does to an
 * extension that no other server does.
 *
 *     lsphp [-d name=value]... SOCKET
 *
 * - LSAPI_CHILDREN of 2 or more: the process that started the modules forks so many children, which
 *   serve, and another whenever one ends. Otherwise it serves by itself.
 * - A child ends after LSAPI_MAX_REQS requests, and an idle second after its parent; the modules are
 *   shut down in each process that ends so.
 * - SIGTERM during a request runs PHP's request shutdown inside the signal handler.
 * - While the modules start, the environment is the process'. During a request it is what came with
 *   the request, without the headers. Outside of both, asking for it ends the process.
 *
 * A request is lines up to an empty one: `script PATH`, `variable NAME=VALUE`, `header NAME=VALUE`
 * (NAME as in $_SERVER), `admin NAME=VALUE` (php_admin_value of a virtual host), `uid NUMBER` (as
 * which a child of root serves all its requests). The answer is `Status: NUMBER`, headers, body.
 */
#include <php.h>
#include <SAPI.h>
#include <php_ini.h>
#include <php_main.h>
#include <php_variables.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 32

struct pair {
    char *name, *value;
};

struct list {
    struct pair pairs[MOST];
    int count;
};

static struct {
    int connection;
    char text[8192];
    char *script;
    long uid;
    struct list variables, headers, settings;
} request;

static enum { STARTING, IDLE, SERVING } state = STARTING;

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void add(struct list *list, char *text)
{
    char *sign = strchr(text, '=');
    if (!sign || list->count == MOST) {
        fprintf(stderr, "lsphp: unusable line: %s\n", text);
        exit(2);
    }
    *sign = 0;
    list->pairs[list->count++] = (struct pair) {text, sign + 1};
}

static char *look_up(const char *name, size_t length)
{
    (void) length;
    if (state == STARTING) {
        return getenv(name);
    }
    if (state == IDLE) {
        fprintf(stderr, "lsphp: sapi_getenv(\"%s\") outside of a request\n", name);
        abort();
    }
    for (int i = 0; i < request.variables.count; i++) {
        if (strcmp(request.variables.pairs[i].name, name) == 0) {
            return request.variables.pairs[i].value;
        }
    }
    return NULL;
}

static void register_variables(zval *array)
{
    php_import_environment_variables(array);
    for (int i = 0; i < request.variables.count; i++) {
        php_register_variable(request.variables.pairs[i].name, request.variables.pairs[i].value, array);
    }
    for (int i = 0; i < request.headers.count; i++) {
        php_register_variable(request.headers.pairs[i].name, request.headers.pairs[i].value, array);
    }
}

static int activate(void)
{
    for (int i = 0; state == SERVING && i < request.settings.count; i++) {
        struct pair *setting = &request.settings.pairs[i];
        zend_string *name = zend_string_init(setting->name, strlen(setting->name), 0);
        zend_alter_ini_entry_chars(
            name, setting->value, strlen(setting->value), PHP_INI_SYSTEM, PHP_INI_STAGE_ACTIVATE);
        zend_string_release(name);
    }
    return SUCCESS;
}

static size_t answer(const char *text, size_t length)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(request.connection, text + sent, length - sent, MSG_NOSIGNAL);
        if (n < 0) {
            return sent;
        }
        sent += n;
    }
    return length;
}

static int send_headers(sapi_headers_struct *headers)
{
    char status[32];
    zend_llist_position at;
    int length = snprintf(status, sizeof status, "Status: %d\r\n", headers->http_response_code);
    answer(status, length);
    sapi_header_struct *header = zend_llist_get_first_ex(&headers->headers, &at);
    for (; header; header = zend_llist_get_next_ex(&headers->headers, &at)) {
        answer(header->header, header->header_len);
        answer("\r\n", 2);
    }
    answer("\r\n", 2);
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static void flush(void *context)
{
    (void) context;
    sapi_send_headers();
}

static size_t read_post(char *buffer, size_t length)
{
    (void) buffer, (void) length;
    return 0;
}

static char *read_cookies(void)
{
    return NULL;
}

static void log_message(const char *message, int type)
{
    (void) type;
    fprintf(stderr, "%s\n", message);
}

static int startup(sapi_module_struct *module)
{
    return php_module_startup(module, NULL);
}

static sapi_module_struct module = {
    .name = "litespeed",
    .pretty_name = "a stand-in for LiteSpeed",
    .startup = startup,
    .shutdown = php_module_shutdown_wrapper,
    .activate = activate,
    .ub_write = answer,
    .flush = flush,
    .getenv = look_up,
    .sapi_error = php_error,
    .send_headers = send_headers,
    .read_post = read_post,
    .read_cookies = read_cookies,
    .register_server_variables = register_variables,
    .log_message = log_message,
};

/* As in LSAPI: with a timer that counts processor time, so that it does not end who sleeps. */
static void shut_request_down_and_exit(int signal_number)
{
    struct itimerval limit = {.it_value.tv_usec = 100000};
    signal(signal_number, SIG_DFL);
    signal(SIGPROF, SIG_DFL);
    setitimer(ITIMER_PROF, &limit, NULL);
    if (state == SERVING) {
        php_request_shutdown(NULL);
    }
    exit(1);
}

static void read_request(void)
{
    size_t length = 0;
    memset(&request.variables, 0, sizeof request.variables);
    memset(&request.headers, 0, sizeof request.headers);
    memset(&request.settings, 0, sizeof request.settings);
    request.script = NULL;
    request.uid = -1;
    do {
        ssize_t n = read(request.connection, request.text + length, sizeof request.text - 1 - length);
        if (n <= 0) {
            return;
        }
        length += n;
        request.text[length] = 0;
    } while (!strstr(request.text, "\n\n"));

    for (char *rest, *line = strtok_r(request.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, ' ');
        if (!value) {
            continue;
        }
        *value++ = 0;
        if (strcmp(line, "script") == 0) {
            request.script = value;
        } else if (strcmp(line, "variable") == 0) {
            add(&request.variables, value);
        } else if (strcmp(line, "header") == 0) {
            add(&request.headers, value);
        } else if (strcmp(line, "admin") == 0) {
            add(&request.settings, value);
        } else if (strcmp(line, "uid") == 0) {
            request.uid = atol(value);
        }
    }
}

static void serve_request(void)
{
    zend_file_handle file;
    SG(server_context) = &request;
    SG(request_info).request_method = "GET";
    SG(request_info).path_translated = request.script;
    SG(sapi_headers).http_response_code = 200;
    state = SERVING;
    if (php_request_startup() == SUCCESS) {
        zend_stream_init_filename(&file, request.script);
        file.primary_script = 1;
        php_execute_script(&file);
        zend_destroy_file_handle(&file);
    }
    php_request_shutdown(NULL);
    state = IDLE;
}

/* parent: the process after which this one ends too; 0: none. */
static void serve(int listener, pid_t parent, long most)
{
    struct pollfd poller = {.fd = listener, .events = POLLIN};
    signal(SIGTERM, shut_request_down_and_exit);
    for (long served = 0; !most || served < most;) {
        if (poll(&poller, 1, 1000) <= 0) {
            if (parent && getppid() != parent) {
                return;
            }
            continue;
        }
        request.connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (request.connection < 0) {
            continue; /* another process was faster */
        }
        read_request();
        if (request.script) {
            if (request.uid >= 0 && geteuid() == 0 && (setgid(request.uid) || setuid(request.uid))) {
                die("setuid");
            }
            serve_request();
            served++;
        }
        close(request.connection);
    }
}

static void leave(void)
{
    php_module_shutdown();
    sapi_shutdown();
    exit(0);
}

/* Returns upon SIGTERM, without waiting for the children. */
static void keep_children(int listener, int wanted, long most)
{
    int children = 0;
    pid_t parent = getpid();
    sigset_t awaited, before;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    do {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
            children--;
        }
        for (; children < wanted; children++) {
            pid_t pid = fork();
            if (pid < 0) {
                die("fork");
            }
            if (pid == 0) {
                sigprocmask(SIG_SETMASK, &before, NULL);
                setsid();
                serve(listener, parent, most);
                leave();
            }
        }
    } while (sigwaitinfo(&awaited, NULL) != SIGTERM);
}

static int listen_on(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (listener < 0 || bind(listener, (struct sockaddr *) &address, sizeof address) || listen(listener, 64)) {
        die(path);
    }
    return listener;
}

static long number_in(const char *variable)
{
    const char *text = getenv(variable);
    return text ? atol(text) : 0;
}

int main(int count, char **arguments)
{
    static char ini[8192] = "display_errors=0\nlog_errors=1\n";
    int option;
    while ((option = getopt(count, arguments, "d:")) == 'd') {
        size_t used = strlen(ini);
        snprintf(ini + used, sizeof ini - used, "%s\n", optarg);
    }
    if (option != -1 || optind != count - 1) {
        fprintf(stderr, "usage: lsphp [-d name=value]... SOCKET\n");
        return 2;
    }
    long children = number_in("LSAPI_CHILDREN"), most = number_in("LSAPI_MAX_REQS");

    signal(SIGPIPE, SIG_IGN);
    zend_signal_startup();
    sapi_startup(&module);
    module.ini_entries = ini;
    module.php_ini_ignore = 1;
    if (module.startup(&module) == FAILURE) {
        return 2;
    }
    SIGG(reset) = 0; /* our handlers stay */
    state = IDLE;
    unsetenv("LSAPI_CHILDREN");
    unsetenv("LSAPI_MAX_REQS");

    int listener = listen_on(arguments[optind]);
    if (children > 1) {
        keep_children(listener, children, most);
    } else {
        serve(listener, 0, most);
    }
    leave();
}
