# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Guests, and the commands that need more than one; a part of vmtest.sh, whose variables these are.

# KVM can be there and still not run a stock kernel, so it is tried, once per machine boot and root.
kvm_works() {
	local k=$1 id answer=$build/kvm
	[ -w /dev/kvm ] || return 1
	id="$(cat /proc/sys/kernel/random/boot_id) $(cat "$root/.recipe")"
	if [ "$(sed -n 1p "$answer" 2>/dev/null)" != "$id" ]; then
		say "trying KVM ..."
		local word=no
		! in_root python3 tests/vm/boot.py --kvm --kernel "$k" --timeout 10 \
			--name kvm-probe -- true >"$log/kvm.log" 2>&1 </dev/null || word=yes
		printf '%s\n%s\n' "$id" "$word" >"$answer"
		say "KVM: $word"
	fi
	[ "$(sed -n 2p "$answer")" = yes ]
}

# guest KERNEL NAME TIMEOUT [boot.py option...] -- COMMAND...
guest() {
	local k=$1 name=$2 limit=${timeout:-$3} options=(--slow "$slow")
	shift 3
	case "$architecture $* " in
	[a-z]*) options+=(--virtual-time --architecture "$architecture" --root /src/build/root) ;;
	*' --virtual-time '*) ;;
	*) ! kvm_works "$k" || options+=(--kvm) ;;
	esac
	[ -z "$kernel_option" ] || options+=(--kernel-option "$kernel_option")
	[ -z "$image" ] || options+=(--image "$image")
	in_native_root python3 tests/vm/boot.py --kernel "$k" --name "$name" --timeout "$limit" \
		--memory "$memory" "${options[@]}" "$@"
}

# each NAME TIMEOUT [option...] -- COMMAND...: one guest per kernel wanted, the worst status wins.
each() {
	local k status=0 s
	for k in "${kernels[@]}"; do
		say "$command on Linux $k"
		s=0
		guest "$k" "$@" || s=$?
		[ $s -eq 0 ] || { status=$s; say "$command on Linux $k: exit status $s"; }
	done
	return "$status"
}

# The benchmarks that run in one guest and print a table, or the lab, which has guests of its own.
do_bench() {
	local first=${arguments[0]:-} limit=3600 k status=0 options=()
	case $first in
	cost | segments | speed | quality | bulk | stress | outage | pause | timeline | many | soak)
		[ "$first" != timeline ] || { do_timeline; return; }
		[ "$first" != soak ] || limit=36000
		each bench "$limit" --virtual-time --must-print -- python3 -m mptcplab "${arguments[@]}"
		return
		;;
	list | report | compare | readme | events)
		in_root python3 -m mptcplab "${arguments[@]}" </dev/null
		return
		;;
	esac
	[ -z "$image" ] || die "the lab takes the root's own kernels"
	[ -z "$timeout" ] || options+=(--timeout "$timeout")
	# The root cannot see a work tree's repository elsewhere.
	! git rev-parse HEAD >/dev/null 2>&1 || options+=(--commit "$(git describe --always --dirty --abbrev=12)")
	for k in "${kernels[@]}"; do
		in_root python3 -m mptcplab run --kernel "$k" --memory "$memory" "${options[@]}" \
			"${arguments[@]}" </dev/null || status=$?
	done
	return "$status"
}

# Recordings that are named are drawn; else a guest makes some, which are drawn then. The root sees
# no file that is not below the project.
do_timeline() {
	local i made status=0 to=$build/out/timeline
	mkdir -p "$to"
	for i in "${!arguments[@]}"; do
		[[ -f ${arguments[$i]} || ${arguments[$i]} != *.rec ]] || die "${arguments[$i]}: there is no such file"
		[ -f "${arguments[$i]}" ] || continue
		made=$to/$(basename "${arguments[$i]}")
		[ "${arguments[$i]}" -ef "$made" ] || cp "${arguments[$i]}" "$made"
		arguments[i]=build/out/timeline/$(basename "$made")
		status=drawn
	done
	if [ $status = drawn ]; then
		in_root python3 -m mptcplab "${arguments[@]}" </dev/null
		return
	fi
	touch "$to/.begun"
	each bench 3600 --virtual-time --must-print -- python3 -m mptcplab "${arguments[@]}" || status=$?
	mapfile -t made < <(cd "$top" && find build/out/timeline -name '*.rec' -newer "$to/.begun" | sort)
	[ ${#made[@]} -eq 0 ] || in_root python3 -m mptcplab timeline "${made[@]}" </dev/null || status=$?
	return $status
}

# typeguard comes with virtme-ng and would be loaded by every pytest.
pytest=(python3 -m pytest -q -p no:cacheprovider -p no:typeguard -ra --durations=10 --durations-min=20)

# guest_tests KERNEL NAME SETS PART: those of the guest's tests that are of these sets
# (tests/guest/conftest.py), in the guest that they need; PART I/N: one of N parts of them.
guest_tests() {
	local k=$1 name=$2 sets=$3 part=$4 mark='not virtual_time' options=(--must-print) s=0
	if [[ $name = test-virtual* ]]; then
		options+=(--virtual-time --compiled)
		mark=virtual_time
	fi
	# The command does one thing after the other: a second CPU waits for the first, and keeps the host's busy.
	[[ $name != test-command* ]] || options+=(--cpus 1)
	say "guest tests ($mark; $sets; part $part) on Linux $k"
	guest "$k" "$name" 3600 "${options[@]}" -- "${pytest[@]}" tests/guest -m "$mark" --sets "$sets" \
		--share "$part" "${brief[@]}" --junit-xml="build/out/$name-$k.xml" "${arguments[@]}" || s=$?
	# pytest's 5: nothing was selected, as when the arguments name one test.
	[ $s -ne 5 ] || [ ${#arguments[@]} -eq 0 ] || s=0
	[ $s -eq 0 ] || say "tests on Linux $k: exit status $s"
	return $s
}

# A guest in virtual time keeps one CPU of the host busy, and how fast that is does not matter to
# it. One in real time is idle for a good part of the time, and has the machine before the others. So
# there are lanes: the host tests and the guests in real time where time matters, one after the other;
# and two beside it for all else, which the first joins when it is done.

# What is the same on all kernels runs on the last of them; of the tests for every scheduler each
# kernel has its share (tests/guest/sets.py).
sets_of() {
	local every=,every again=,again
	[ ${#kernels[@]} -eq 1 ] || every=
	[ ${#brief[@]} -eq 0 ] || again=
	[ "$1" = "${kernels[-1]}" ] && echo "kernel,again$every,policy,packages,command" || echo "kernel$again,every"
}

# queue_others: what is for the other lanes, a line each, "KERNEL NAME SETS PART"
queue_others() {
	local k i parts=2
	# what is left is then too little for two guests
	[ ${#arguments[@]} -eq 0 ] && [ ${#brief[@]} -eq 0 ] || parts=1
	# of those in real time one at once
	for i in $(seq $parts); do
		echo "${kernels[-1]} test-command-$i command $i/$parts"
		echo "${kernels[0]} test-virtual-$i $(sets_of "${kernels[0]}") $i/$parts"
	done
	for k in "${kernels[@]:1}"; do
		for i in $(seq $parts); do echo "$k test-virtual-$i $(sets_of "$k") $i/$parts"; done
	done
}

# Takes the first line out of the queue. One that stays there is not printed, or it were so for ever.
next_in_queue() {
	local line
	(
		flock 7
		line=$(sed -n 1p "$build/queue") && sed -i 1d "$build/queue" || exit
		[ -z "$line" ] || printf '%s\n' "$line"
	) 7>"$build/.queue"
}

# Does what is in the queue, until it is empty. What the guests print is shown when all is done, so
# that it does not mix.
lane() {
	local k name sets part status=0
	while read -r k name sets part < <(next_in_queue); do
		guest_tests "$k" "$name" "$sets" "$part" </dev/null >"$log/$name-$k.out" || status=$?
		say "guest tests ($name) on Linux $k: done"
	done
	if [ ! -e "$build/queue" ] || [ -s "$build/queue" ]; then
		say "no more tests: nothing can be taken out of $build/queue"
		return 1
	fi
	return $status
}

# What guests would compile: the tests, a minute in each, and the module by DKMS, five in one.
compile_for_guests() {
	{
		in_root "${pytest[@]}" --collect-only tests/guest &&
			in_root python3 tests/vm/dkms.py "${kernels[-1]}"
	} </dev/null >"$log/compile.log" 2>&1 || {
		cat "$log/compile.log"
		return 1
	}
}

# On one kernel a test may be skipped, but not on each of several.
find_skipped() {
	[ ${#kernels[@]} -gt 1 ] && [ ${#arguments[@]} -eq 0 ] || return 0
	in_root sh -c 'tests/skipped.py build/out/test-*.xml' </dev/null
}

# A run has the queue, the logs and the results to itself.
alone() {
	exec 6>"$build/.testing"
	flock -n 6 || { say "waiting for another test run in $build ..."; flock 6; }
}

do_test() {
	local k status=0 beside=()
	alone
	rm -f "$log"/test-{virtual,command}-*.out "$build"/out/test-*.xml
	compile_for_guests || return
	queue_others >"$build/queue"
	if [ "$(nproc)" -gt 1 ]; then
		for k in 1 2; do
			(renice -n 10 $BASHPID >/dev/null; lane) &
			beside+=($!)
		done
		# What runs in the background does not hear Ctrl-C.
		trap 'kill "${beside[@]}"' EXIT
	fi
	[ ${#brief[@]} -eq 0 ] || say "of the tests turn ${brief[0]#*=} of $turns: ${brief[0]} repeats it"
	say "host tests"
	in_root make check-host TURN="${brief[*]:+${brief[0]#*=}/$turns}" </dev/null || status=$?
	for k in "${kernels[@]}"; do
		guest_tests "$k" test "$(sets_of "$k" | sed 's/,command//')" 1/1 || status=$?
	done
	lane || status=$?
	for k in "${beside[@]}"; do wait "$k" || status=$?; done
	trap - EXIT
	cat "$log"/test-{command,virtual}-*.out
	find_skipped || status=$?
	return "$status"
}
