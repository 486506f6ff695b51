/* SPDX-License-Identifier: BSD-2-Clause */
/* Logins and commands at an SSH server that this test runs. */
#include "lib/base/array.h"
#include "tests/lib/sshd.h"

static struct test_sshd sshd;
static struct ssh_target target;

static void setup(void)
{
	tasks_init(uv_default_loop());
	test_sshd_create(&sshd);
	target = test_sshd_target(&sshd);
}

static void teardown(void)
{
	test_sshd_destroy(&sshd);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(uv_default_loop()), 0);
}

TestSuite(ssh, .init = setup, .fini = teardown, .timeout = 100);

static void run_tasks(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

/* In builds with sanitizers: what this thread allocates until the second call
 * may be lost. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* A login with one command, in a task of its own. */
struct visit {
	bool loses; /* libssh2 may lose memory in it */
	struct ssh_target target;
	struct ssh_command command;
	struct ssh_result result;
	struct buf out, errors;
	struct error err;
	int rc; /* -1: no login, -2: no command */
};

static void take_output(void *arg, bool is_stderr, const char *data, size_t len)
{
	struct visit *v = arg;

	buf_add(is_stderr ? &v->errors : &v->out, data, len);
}

static void visit_task(void *arg)
{
	struct visit *v = arg;
	struct ssh *s;

	if (v->loses && __lsan_disable != NULL)
		__lsan_disable();
	s = ssh_open(&v->target, &v->err);
	v->rc = s == NULL ? -1 : 0;
	if (s == NULL)
		return;
	if (v->command.line != NULL &&
	    ssh_run(s, &v->command, &v->result, &v->err) < 0)
		v->rc = -2;
	ssh_close(s);
	if (v->loses && __lsan_enable != NULL)
		__lsan_enable();
}

static void visit_begin(struct visit *v, const char *line)
{
	v->target = target;
	v->command.line = line;
	v->command.on_output = take_output;
	v->command.arg = v;
	task_spawn("visit", visit_task, v);
}

static void visit_done(struct visit *v)
{
	buf_done(&v->out);
	buf_done(&v->errors);
}

/* A login that works, or one that does not and has these words in its error. */
static void expect_login(void)
{
	struct visit v = {0};

	visit_begin(&v, "echo in");
	run_tasks();
	cr_expect_eq(v.rc, 0, "%s", v.err.text);
	cr_expect(v.out.data != NULL && strcmp(v.out.data, "in\n") == 0);
	visit_done(&v);
}

static void expect_no_login(const char *step, const char *words)
{
	auto_free char *place = xprintf(
		"SSH to node2.example.com (%s port %d), %s: ", target.address,
		target.port, step);
	struct visit v = {0};

	visit_begin(&v, "echo in");
	run_tasks();
	cr_expect_eq(v.rc, -1);
	cr_expect(str_starts(v.err.text, place), "%s", v.err.text);
	cr_expect_not_null(strstr(v.err.text, words), "%s", v.err.text);
	visit_done(&v);
}

/* --- commands --- */

Test(ssh, a_command_has_input_output_and_a_status)
{
	struct visit v = {.command = {.input = "hello\n", .input_len = 6}};

	test_sshd_start(&sshd, NULL);
	visit_begin(&v, "cat; echo wrong >&2; exit 3");
	run_tasks();
	cr_assert_eq(v.rc, 0, "%s", v.err.text);
	cr_expect_eq(v.result.status, 3);
	cr_expect_str_eq(v.result.signal, "");
	cr_expect_str_eq(v.out.data, "hello\n");
	cr_expect_str_eq(v.errors.data, "wrong\n");
	visit_done(&v);
}

Test(ssh, a_signal_is_told)
{
	struct visit v = {0};

	test_sshd_start(&sshd, NULL);
	visit_begin(&v, "kill -TERM $$");
	run_tasks();
	cr_expect_eq(v.result.status, -1);
	cr_expect_str_eq(v.result.signal, "TERM");
}

/* Both ways at the same time, more than any window or buffer has room for. */
Test(ssh, much_goes_both_ways)
{
	size_t len = 20 << 20;
	auto_free char *input = xalloc(len);
	struct visit v = {.command = {.input = input, .input_len = len}};

	for (size_t i = 0; i < len; i++)
		input[i] = (char)(i * 2654435761u >> 13);
	test_sshd_start(&sshd, NULL);
	visit_begin(&v, "tee /dev/stderr");
	run_tasks();
	cr_assert_eq(v.rc, 0, "%s", v.err.text);
	cr_expect_eq(v.out.len, len);
	cr_expect_eq(v.errors.len, len);
	cr_expect_eq(memcmp(v.out.data, input, len), 0);
	cr_expect_eq(memcmp(v.errors.data, input, len), 0);
	visit_done(&v);
}

Test(ssh, a_command_need_not_read_its_input)
{
	size_t len = 8 << 20;
	auto_free char *input = xalloc(len);
	struct visit v = {.command = {.input = input, .input_len = len}};

	test_sshd_start(&sshd, NULL);
	visit_begin(&v, "exit 4");
	run_tasks();
	cr_expect_eq(v.rc, 0, "%s", v.err.text);
	cr_expect_eq(v.result.status, 4);
}

/* Each command waits until all are there, so none waits for another's end. */
Test(ssh, many_run_at_the_same_time)
{
	enum { MANY = 12 };
	static const char *const lines[] = {"MaxStartups 100", NULL};
	auto_free char *line =
		xprintf("touch %s/here.$$; for i in $(seq 600); do [ $(ls "
			"%s/here.* | wc -l) = %d ] && exit 0; sleep 0.05; "
			"done; exit 1",
			sshd.folder, sshd.folder, MANY);
	struct visit visits[MANY] = {0};

	test_sshd_start(&sshd, lines);
	for (int i = 0; i < MANY; i++)
		visit_begin(&visits[i], line);
	run_tasks();
	for (int i = 0; i < MANY; i++) {
		cr_expect_eq(visits[i].rc, 0, "%s", visits[i].err.text);
		cr_expect_eq(visits[i].result.status, 0);
	}
}

/* The server's process for this connection is killed by the command. */
Test(ssh, a_lost_connection_is_an_error)
{
	struct visit v = {0};

	test_sshd_start(&sshd, NULL);
	visit_begin(&v, "kill -9 $PPID; sleep 60");
	run_tasks();
	cr_expect_eq(v.rc, -2);
	cr_expect_not_null(
		strstr(v.err.text, "command: the connection is lost"), "%s",
		v.err.text);
	expect_login();
}

/* The server's process for this connection stands still, so nothing ends. */
Test(ssh, a_host_that_stands_still_is_given_up)
{
	auto_free char *pid = xprintf("%s/pid", sshd.folder);
	auto_free char *line = xprintf("echo $PPID >%s; kill -STOP $PPID; "
				       "sleep 60",
				       pid);
	auto_free char *end = xprintf("kill -9 $(cat %s)", pid);
	struct visit v = {0};

	target.silence_ms = 1000;
	test_sshd_start(&sshd, NULL);
	visit_begin(&v, line);
	run_tasks();
	test_shell(end);
	cr_expect_eq(v.rc, -2);
	cr_expect_not_null(strstr(v.err.text, "command: the host does not "
					      "answer in time"),
			   "%s", v.err.text);
}

/* It answers when it is asked, which libssh2 does every two seconds at most. */
Test(ssh, a_command_may_be_silent)
{
	struct visit v = {0};

	target.silence_ms = 9000;
	test_sshd_start(&sshd, NULL);
	visit_begin(&v, "sleep 10; echo late");
	run_tasks();
	cr_expect_eq(v.rc, 0, "%s", v.err.text);
	cr_expect_str_eq(v.out.data, "late\n");
	visit_done(&v);
}

/* New keys every now and then, as after hours or gigabytes.  Each time libssh2
 * 1.10 loses its copy of the host's key, some 50 bytes. */
Test(ssh, keys_are_exchanged_again)
{
	static const char *const lines[] = {"RekeyLimit 1M", NULL};
	size_t len = 8 << 20;
	auto_free char *input = xalloc(len);
	struct visit v = {.loses = true,
			  .command = {.input = input, .input_len = len}};

	test_sshd_start(&sshd, lines);
	visit_begin(&v, "cat");
	run_tasks();
	cr_expect_eq(v.rc, 0, "%s", v.err.text);
	cr_expect_eq(v.out.len, len);
	visit_done(&v);
}

/* --- steps --- */

Test(ssh, a_host_that_refuses)
{
	expect_no_login("connect", "refused");
	target.address = "no.such.host.invalid";
	expect_no_login("connect", "the name is not found");
}

Test(ssh, a_host_that_accepts_and_is_silent)
{
	int fd = test_listen(sshd.address, &target.port);

	target.step_ms = 300;
	expect_no_login("key exchange", "does not answer in time");
	close(fd);
}

Test(ssh, a_host_that_speaks_something_else)
{
	int fd = test_listen(sshd.address, &target.port);

	if (fork() == 0) {
		int peer = accept(fd, NULL, NULL);

		dprintf(peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
		close(peer);
		_exit(0);
	}
	target.step_ms = 5000;
	expect_no_login("key exchange", "");
	close(fd);
	wait(NULL);
}

/* --- host keys --- */

static void forget_host(void)
{
	unlink(sshd.known);
}

Test(ssh, a_host_that_nobody_knows)
{
	test_sshd_start(&sshd, NULL);
	forget_host();
	expect_no_login("host key", "ED25519 SHA256:");
	expect_no_login("host key", "is not known: there is none for ");
	target.any_key = true;
	expect_login();
}

Test(ssh, a_host_with_another_key)
{
	auto_free char *line = xprintf(
		"cd %s && ssh-keygen -q -t ed25519 -N '' -f wrong && echo "
		"'# first' >known && echo \"[%s]:%d $(cat wrong.pub)\" >>known",
		sshd.folder, sshd.address, sshd.port);
	auto_free char *place = NULL;

	test_shell(line);
	test_sshd_start(&sshd, NULL);
	place = xprintf("%s has another one for [%s]:%d in line 2", sshd.known,
			sshd.address, sshd.port);
	expect_no_login("host key", place);
}

static bool trusts(void *arg, const char *host, const char *key)
{
	const char *seen = arg;

	cr_expect_str_eq(host, seen);
	cr_expect(str_starts(key, "ED25519 SHA256:"), "%s", key);
	cr_expect_eq(strlen(key), strlen("ED25519 SHA256:") + 43);
	return strcmp(host, "yes") == 0;
}

/* A host that nobody knows; a person says so of its key, which is added to the
 * file. */
static void ask_person(struct ssh_person *person, const char *says,
		       const char *remember)
{
	test_sshd_start(&sshd, NULL);
	forget_host();
	*person =
		(struct ssh_person){.trusts = trusts, .arg = mem_unconst(says)};
	target.person = person;
	target.key_alias = says;
	target.remember = remember;
}

Test(ssh, a_person_may_trust_a_key)
{
	struct ssh_person person;

	ask_person(&person, "no", sshd.known);
	expect_no_login("host key", "is not known");
	cr_expect_not(fs_exists(sshd.known));
	target.key_alias = "yes";
	person.arg = "yes";
	expect_login();
	target.person = NULL;
	expect_login(); /* it is remembered */
}

Test(ssh, a_trusted_key_that_cannot_be_remembered_is_trusted_once)
{
	struct ssh_person person;

	ask_person(&person, "yes", "/proc/nowhere/known_hosts");
	expect_login();
	target.person = NULL;
	expect_no_login("host key", "is not known");
}

Test(ssh, keys_of_each_type_are_checked)
{
	static const char *const types[] = {"ed25519", "ecdsa", "rsa"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		auto_free char *line =
			xprintf("HostKey %s/host_%s", sshd.folder, types[i]);
		const char *lines[] = {line, NULL};

		test_sshd_start(&sshd, lines);
		if (i < 2 || libssh2_version(0x010b00) != NULL)
			expect_login();
		else
			expect_no_login("key exchange",
					"make an Ed25519 key there");
		test_sshd_stop(&sshd);
	}
}

/* It has no other one. */
Test(ssh, a_key_of_a_type_that_is_not_known)
{
	auto_free char *line = xprintf("HostKey %s/host_ed25519", sshd.folder);
	auto_free char *place = xprintf("%s, line 1, has only a key of another "
					"type for [%s]:%d (ECDSA)",
					sshd.known, sshd.address, sshd.port);
	auto_free char *only = xprintf("cd %s && grep ecdsa known >k && "
				       "mv k known",
				       sshd.folder);
	const char *lines[] = {line, NULL};

	test_shell(only);
	test_sshd_start(&sshd, lines);
	expect_no_login("host key", place);
}

/* The server would show the Ed25519 key by itself. */
Test(ssh, a_key_of_a_known_type_is_asked_for)
{
	auto_free char *line = xprintf(
		"cd %s && grep ecdsa known >k && mv k known", sshd.folder);

	test_shell(line);
	test_sshd_start(&sshd, NULL);
	expect_login();
}

/* --- users --- */

static void make_user_key(const char *options)
{
	auto_free char *line =
		xprintf("cd %s && rm -f user user.pub && ssh-keygen -q %s -f "
			"user && cp user.pub authorized",
			sshd.folder, options);

	test_shell(line);
}

Test(ssh, keys_of_users)
{
	test_sshd_start(&sshd, NULL);
	expect_login();
	make_user_key("-t ecdsa -b 256 -N ''");
	expect_login();
	make_user_key("-t ecdsa -b 521 -N ''");
	expect_login();
	make_user_key("-t ecdsa -N '' -m PEM");
	expect_login();
}

Test(ssh, rsa_works_or_the_error_says_what_to_make)
{
	test_sshd_start(&sshd, NULL);
	make_user_key("-t rsa -b 2048 -N ''");
	if (libssh2_version(0x010b00) != NULL)
		expect_login();
	else
		expect_no_login("login", "Make an Ed25519 key (ssh-keygen -t "
					 "ed25519)");
}

Test(ssh, a_key_that_is_not_let_in)
{
	auto_free char *line = xprintf(
		"cd %s && : >authorized && echo nonsense >user2", sshd.folder);
	auto_free char *second = xprintf("%s/user2", sshd.folder);

	test_shell(line);
	sshd.keys[1] = second;
	test_sshd_start(&sshd, NULL);
	expect_no_login("login", sshd.key);
	expect_no_login("login", "user2 (no private key can be read)");
	target.keys = NULL;
	expect_no_login("login", "tried: nothing, as there is no key");
}

struct answers {
	const char *const *texts;
	int asked;
};

static char *answer(void *arg, const char *question)
{
	struct answers *a = arg;

	cr_expect_not_null(strstr(question, ": "));
	if (a->texts[a->asked] == NULL)
		return NULL;
	return xstrdup(a->texts[a->asked++]);
}

Test(ssh, a_locked_key_needs_its_passphrase)
{
	static const char *const right[] = {"se cret", NULL};
	static const char *const wrong[] = {"other", NULL};
	struct answers answers = {.texts = right};
	struct ssh_person person = {.secret = answer, .arg = &answers};

	test_sshd_start(&sshd, NULL);
	make_user_key("-t ed25519 -N 'se cret'");
	expect_no_login("login", "it needs a passphrase");
	target.person = &person;
	expect_login();
	answers = (struct answers){.texts = wrong};
	expect_no_login("login", "it cannot be used");
}

static void try_passwords(const char *const *lines)
{
	static const char *const right[] = {"s3 cret", NULL};
	static const char *const second[] = {"wrong", "s3 cret", NULL};
	static const char *const wrong[] = {"a", "b", "c", "s3 cret", NULL};
	struct answers answers = {.texts = right};
	struct ssh_person person = {.secret = answer, .arg = &answers};

	test_sshd_start(&sshd, lines);
	target.keys = NULL;
	target.person = &person;
	expect_login();
	answers = (struct answers){.texts = second};
	expect_login();
	answers = (struct answers){.texts = wrong};
	expect_no_login("login", "tried: a password");
	cr_expect_eq(answers.asked, SSH_PASSWORDS_MAX);
}

Test(ssh, passwords)
{
	static const char *const lines[] = {"PasswordAuthentication yes", NULL};

	try_passwords(lines);
}

Test(ssh, passwords_by_questions)
{
	static const char *const lines[] = {"KbdInteractiveAuthentication yes",
					    "UsePAM yes", NULL};

	try_passwords(lines);
}

/* --- agents --- */

Test(ssh, the_keys_of_an_agent)
{
	auto_free char *socket = xprintf("%s/agent", sshd.folder);
	auto_free char *line = NULL;
	pid_t agent = fork();

	if (agent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execlp("ssh-agent", "ssh-agent", "-D", "-a", socket, NULL);
		_exit(127);
	}
	line = xprintf("cd %s && until [ -S agent ]; do sleep 0.02; done && "
		       "ssh-keygen -q -t ecdsa -N '' -f more && "
		       "SSH_AUTH_SOCK=$PWD/agent ssh-add -q more user && "
		       "rm user more",
		       sshd.folder);
	test_shell(line);
	test_sshd_start(&sshd, NULL);
	expect_no_login("login", "nothing, as there is no key");
	target.agent = socket;
	expect_login();
	kill(agent, SIGTERM);
	waitpid(agent, NULL, 0);
	expect_no_login("login", "nothing, as there is no key");
}
