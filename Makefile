# A thin front: everything real is in meson.build and tests/.
#
#   make          build into build/; every program is in build/bin
#   make demo     install what is missing, build, show a cluster at work
#   make test     the same set-up, then all tests
#   make test-compat  only those against Ganeti's own programs
#   make test-hosts   tests of the daemons with nodes that are hosts of their own
#   make test-kinds   tests of the daemons with nodes of another kind (KIND=container, vm)
#   make test-vm  clusters of virtual machines from our packages: three, their life
#                 and failover; two with Xen
#   make test-xen the latter alone
#   make test-vm-disks  LVM and DRBD on virtual machines, and a guest on them
#   make test-vm-mixed  the same with Ganeti's daemons on some of them
#   make test-vm-faults  the same with nodes that fail (ROUNDS times)
#   make test-live-storage  disks of running guests move (minutes)
#   make test-many  100 containers, 1,000 processes: what clusters of many nodes take
#   make fuzz     feed the parsers with garbage (FUZZ_SECONDS each)
#   make kill-rounds  kill the master daemon KILL_ROUNDS times (10,000)
#   make failover-rounds  kill or pause the master FAILOVER_ROUNDS times (200), take over
#   make sim      random lives of a simulated cluster (SEEDS=1-1000000 LIVES=--changes)
#   make raft-lives  random lives of lib/raft alone (SEEDS=1-100000)
#   make log-lives  the same of lib/consensus around it (SEEDS=1-100000)
#   make compat-page  run Ganeti's own commands and write doc/compat.md
#   make coverage  which lines the tests run, by room
#   make schedules  1,000 random schedules of jobs, the books checked (SEEDS=)
#   make bench    measure (see tests/bench/README)
#   make bench-htools  measure placement and planning
#   make install  into PREFIX (/usr/local)
#   make deb      the Debian packages, into build-deb-out
#   make test-deb  the same, installed, upgraded and removed on hosts of their own
#   make test-changeover  from Debian's Ganeti packages to ours, and back

BUILD ?= build
PREFIX ?= /usr/local
CC ?= gcc
# Programs of the packages below come before others of their name: a python3 that is
# a script which looks for one takes five times as long to start.
export PATH := /usr/sbin:/usr/bin:/sbin:/bin:$(PATH)

# The one list of Debian packages: to build, to test, and the test peer.
PACKAGES = gcc make meson ninja-build pkg-config ccache \
	libuv1-dev libjansson-dev libmicrohttpd-dev libcrypt-dev libcurl4-gnutls-dev \
	libgnutls28-dev libssh2-1-dev libpcre2-dev libsqlite3-dev zlib1g-dev
PACKAGES_DEB = debhelper dpkg-dev fakeroot lintian
PACKAGES_TEST = clang lld openssh-server clang-format libclang-rt-14-dev libcriterion-dev python3 curl \
	qemu-system-x86 busybox-static zsh fish groff-base linux-image-cloud-amd64 cpio gcovr \
	nftables debootstrap qemu-utils e2fsprogs socat sshfs strace lxc wrk ansible-core
# Never needed by the product; tests that use it skip without it.
PACKAGES_PEER = ganeti ganeti-os-noop python3-ganeti-rapi ganeti-testsuite

SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)
APT = $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get
INSTALL = $(APT) install -y -q --no-install-recommends

.PHONY: all deps deps-build demo test test-quick test-compat test-hosts test-kinds test-vm test-vm-disks test-vm-mixed test-vm-faults test-live-storage test-many test-xen \
	coverage fuzz kill-rounds failover-rounds sim schedules raft-lives log-lives bench bench-htools compat-page \
	deb test-deb test-changeover install clean
all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	CC="$(CC)" meson setup $(BUILD) --prefix=$(PREFIX) \
		-Dunit_tests=disabled

missing = $(shell dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $(1) \
	2>&1 | awk '$$1 != "installed"' | head -1)

deps-build:
	@if [ -n "$(call missing,$(PACKAGES))" ]; then \
		$(APT) update -q && $(INSTALL) $(PACKAGES); fi

deps: deps-build
	@if [ -n "$(call missing,$(PACKAGES_TEST))" ]; then \
		$(APT) update -q && $(INSTALL) $(PACKAGES_TEST); fi
	@if [ -n "$(call missing,$(PACKAGES_PEER))" ]; then \
		$(INSTALL) $(PACKAGES_PEER) || \
		echo "Ganeti cannot be installed: tests against it are skipped"; fi
	@command -v promtool >/dev/null || tests/lib/promtool.sh "$(SUDO)" || \
		echo "promtool cannot be had: the alert rules are not checked"

demo: deps-build all
	tests/demo/demo.sh $(BUILD)/bin

test: deps
	tests/run-all.sh

# One build, no sanitizers: what one runs while working.
test-quick:
	tests/run-all.sh --quick

# Recorded runs of Ganeti's, and its own programs against our daemons.
test-compat: deps
	test -f build-sim/build.ninja || CC="$(CC)" meson setup build-sim
	ninja -C build-sim
	meson test -C build-sim --suite compat --print-errorlogs
	@grep -o 'upstream cli: .*' build-sim/meson-logs/testlog.txt | tail -1

# Tests of the daemons where each node has a network address, an /etc, a /var and
# so on of its own, by namespaces: needs root.
test-hosts: deps
	test -f build-sim/build.ninja || CC="$(CC)" meson setup build-sim
	ninja -C build-sim
	ON_HOSTS=1 meson test -C build-sim --suite daemon --no-suite hosts \
		--print-errorlogs

# Tests that are run here fail the target, with their count in the last line.
PROVE = BIN=$(CURDIR)/$(BUILD)/bin tests/lib/prove.sh
PROVE_DEBS = DEBS=$(CURDIR)/build-deb-out IMAGE_WAIT_S=900 $(PROVE)

# The same scripts with nodes that gnt-vcluster makes: those that reach nodes only
# by commands, and name no process and no path of this machine.
KIND ?= container
KINDS_TESTS ?= 015-daemons 020-instances 025-commands 026-init 027-groups \
	028-instance-disks 029-unknown 040-evacuate 042-replace-disks 050-crash \
	070-hooks 100-failover 120-resources 127-os-params 128-cluster-nodes
test-kinds: all
	@KIND=$(KIND) $(PROVE) $(KINDS_TESTS:%=tests/daemon/%.t)

# Virtual machines with our packages: minutes, of which the first run needs five more
# for the image, in VM_CACHE (~/.cache/gantry).
test-vm: all deb
	@$(PROVE_DEBS) -p tests/vm/life.t tests/vm/xen.t

# On those with Xen, which is emulated, a paravirtual guest lives and migrates.
test-xen: all deb
	@$(PROVE_DEBS) tests/vm/xen.t

# Volumes and mirrors on them.
test-vm-disks: all
	@IMAGE_WAIT_S=900 $(PROVE) -p tests/vm/guest.t tests/vm/disks.t

# Debian's node daemon under our master, and ours under Ganeti's.
test-vm-mixed: all
	@IMAGE_WAIT_S=900 $(PROVE) tests/vm/mixed.t

# The same with daemons that are killed and power that is cut, at random.
ROUNDS ?= 30
test-vm-faults: all
	@ROUNDS=$(ROUNDS) $(PROVE) tests/vm/faults.t

# Disks of running guests on another storage, and on another node.
test-live-storage: all
	@LIVE_STORAGE=1 $(PROVE) tests/daemon/082-live-storage.t

test-many: all
	@$(PROVE) tests/vm/many.t

# Lines that the tests run, by room; with real processes, as most of them do.
COVERAGE_SUITES ?= unit sim daemon compat
coverage: deps
	test -f build-cov/build.ninja || CC="$(CC)" meson setup build-cov \
		-Db_coverage=true -Dunit_tests=enabled --buildtype=debug \
		-Dc_args=-fprofile-update=atomic
	ninja -C build-cov
	find build-cov -name '*.gcda' -delete
	meson test -C build-cov --no-rebuild \
		$(addprefix --suite ,$(COVERAGE_SUITES))
	tests/coverage.py build-cov

# A minute for each fuzz target.
FUZZ_SECONDS ?= 60
fuzz: deps
	test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz \
		-Dfuzz=enabled -Dunit_tests=disabled
	ninja -C build-fuzz tests/fuzz/fuzz_luxi tests/fuzz/fuzz_opcode \
		tests/fuzz/fuzz_hail tests/fuzz/fuzz_text
	tests/fuzz/run.sh build-fuzz $(FUZZ_SECONDS)

# kill -9 of the master daemon under load, many times.
KILL_ROUNDS ?= 10000
kill-rounds: all
	BIN=$(CURDIR)/$(BUILD)/bin KILL_ROUNDS=$(KILL_ROUNDS) \
		tests/daemon/140-kill-rounds.t

# Five nodes: each round stops the master under load while a candidate is replaced,
# and another node takes over; some ten seconds each.
FAILOVER_ROUNDS ?= 200
failover-rounds: all
	BIN=$(CURDIR)/$(BUILD)/bin FAILOVER_ROUNDS=$(FAILOVER_ROUNDS) \
		tests/daemon/108-failover-rounds.t

# Random lives of a simulated cluster: a seed takes a tenth of a second.  LIVES is
# --take-overs or --changes, or nothing.
SEEDS ?= 1-1000000
LIVES ?=
sim: deps
	test -f build-sim/build.ninja || CC="$(CC)" meson setup build-sim
	ninja -C build-sim tests/sim_run
	BUILD=build-sim tests/sim/run --seeds $(SEEDS) $(LIVES)

# Random lives of servers of lib/raft: some hundred seeds a second.
raft-lives: SEEDS = 1-100000
raft-lives: deps
	test -f build-sim/build.ninja || CC="$(CC)" meson setup build-sim
	ninja -C build-sim tests/raft_lives
	build-sim/tests/raft_lives $(subst -, ,$(SEEDS))

# Random lives of servers of lib/consensus: some hundred seeds a second.
log-lives: SEEDS = 1-100000
log-lives: deps
	test -f build-sim/build.ninja || CC="$(CC)" meson setup build-sim
	ninja -C build-sim tests/log_lives
	build-sim/tests/log_lives $(subst -, ,$(SEEDS))

# Random schedules of adds, removals, evacuations and changes: two minutes.
schedules: SEEDS = 1-1000
schedules: deps
	test -f build-sim/build.ninja || CC="$(CC)" meson setup build-sim
	ninja -C build-sim tests/sim_schedules
	build-sim/tests/sim_schedules $(subst -, ,$(SEEDS))

# The table of what Ganeti's commands do here.
compat-page: all
	BIN=$(CURDIR)/$(BUILD)/bin COMPAT_PAGE=$(CURDIR)/doc/compat.md \
		tests/compat/upstream-cli.t

bench: all
	ninja -C $(BUILD) queue/bench_history
	ninja -C $(BUILD) queue/bench_locks
	$(BUILD)/queue/bench_locks
	ninja -C $(BUILD) masterd/bench_allocate
	$(BUILD)/masterd/bench_allocate 2>/dev/null
	tests/bench/run.sh $(BUILD)/bin
	BIN=$(BUILD)/bin tests/bench/copies.sh

# Placement and planning, against Debian's ganeti where it is installed.
bench-htools: all
	tests/bench/bench_htools.py $(BUILD)/iallocators

install: all
	meson install -C $(BUILD)

# From a copy, so that dpkg-buildpackage leaves nothing here.
deb: deps-build
	@if [ -n "$(call missing,$(PACKAGES_DEB))" ]; then \
		$(APT) update -q && $(INSTALL) $(PACKAGES_DEB); fi
	tests/packages/build.sh $(CURDIR)/build-deb-out
	lintian --fail-on error $(CURDIR)/build-deb-out/*.changes

# Needs root: the packages are installed on hosts of their own (namespaces).
test-deb: deb
	@$(PROVE_DEBS) tests/daemon/236-packages.t

# The same with Ganeti's packages before and after, on two hosts, with instances
# that run on.
GANETI_PACKAGES = ganeti ganeti-3.0 ganeti-haskell-3.0 ganeti-htools-3.0
test-changeover: deb
	@rm -rf $(CURDIR)/build-deb-out/ganeti && mkdir $(CURDIR)/build-deb-out/ganeti
	cd $(CURDIR)/build-deb-out/ganeti && apt-get -q download $(GANETI_PACKAGES)
	@GANETI_DEBS=$(CURDIR)/build-deb-out/ganeti $(PROVE_DEBS) tests/packages/changeover.t

clean:
	rm -rf build build-*
