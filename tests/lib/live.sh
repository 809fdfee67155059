# SPDX-License-Identifier: Apache-2.0
# The real programs of BUILD_DIR on a state of their own, for the tests that need them (source it; needs root). No sleeps: waits poll a
# condition, spaced by a read that nobody answers.
#
#   live_connections            set before live_up: what stands in `connections` in place of this machine
#   live_up DIR [CONFIG TEXT...]   makes DIR (not below /tmp: plugins are refused where others could swap them), its config and image, starts both programs; portal is a function that talks to them
#   live_start NAME / live_kill NAME [SIGNAL]   portald or portal-runner; live_pid NAME
#   live_down                      ends all that runs below DIR, unmounts, removes DIR
#   until_true SECONDS COMMAND...  the command succeeds within that time
#   field JOB PATH                 a member of `portal show JOB --json`, dots between ("checkpoint.id"); empty where absent
#   job_pid JOB                    the first process in the job's container, as this machine counts

live_dir=
live_connections=${live_connections:-'here: { provider = "local"; options: { price = "0.10usd/h"; }; };'}

live_program() # NAME: its path in the build
{
        local found
        found=$(find "$BUILD_DIR/core" -name "$1" -type f -perm -u+x -print -quit 2>/dev/null)
        [ -n "$found" ] || { echo "no program $1 in $BUILD_DIR" >&2; return 1; }
        printf '%s\n' "$found"
}

live_pause()
{
        read -r -t "${1:-0.1}" <>"$live_dir/never" || true
}

until_true()
{
        local end=$((SECONDS + $1))
        shift
        until "$@" >/dev/null 2>&1; do
                [ $SECONDS -lt $end ] || return 1
                live_pause
        done
}

live_config() # TEXT...: writes the config of live_dir
{
        {
                cat <<CONF
daemon: {
        state_dir = "$live_dir/state"; run_dir = "$live_dir/run"; installation_file = "$live_dir/state.id/installation-id";
        plugin_dir = "$live_dir/plugins"; plugin_host = "$(live_program portald-plugin-host)"; socket_group = "root";
        admin_uids = [ 0 ];
};
runner: {
        state_dir = "$live_dir/runner"; run_dir = "$live_dir/runner.run"; socket_group = "root"; image_roots = [ "$live_dir/images" ];
};
connections: { $live_connections };
CONF
                printf '%s\n' "$@"
        } >"$live_dir/portald.conf"
}

live_start()
{
        local new=()
        case $1 in
        portald)
                [ -e "$live_dir/state.id/installation-id" ] || new=(--new-installation)
                setsid "$(live_program portald)" --config "$live_dir/portald.conf" --foreground "${new[@]}" \
                        </dev/null >>"$live_dir/portald.log" 2>&1 &
                ;;
        portal-runner)
                setsid "$(live_program portal-runner)" --config "$live_dir/portald.conf" --private-cgroup-mount \
                        </dev/null >>"$live_dir/portal-runner.log" 2>&1 &
                ;;
        esac
        echo $! >"$live_dir/$1.pid"
        disown
}

live_pid()
{
        cat "$live_dir/$1.pid"
}

live_ended() # PID
{
        [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"
}

live_kill() # NAME [SIGNAL]: and waits for its end
{
        local pid
        pid=$(live_pid "$1") || return 0
        kill "-${2:-TERM}" "$pid" 2>/dev/null
        until_true 30 live_ended "$pid"
}

portal()
{
        PORTALD_SOCKET=$live_dir/run/portald.sock "$(live_program portal)" "$@"
}

live_serves()
{
        portal ps
}

live_up()
{
        live_dir=$1
        shift
        mkdir -p "$live_dir"/{state,state.id,run,runner,runner.run,images,plugins}
        mkfifo "$live_dir/never"
        cp "$BUILD_DIR"/plugins/*.so "$live_dir/plugins/"
        "$SOURCE_DIR/tests/lib/make-image" "$live_dir/images/debian" || return 1
        live_config "$@"
        live_start portal-runner
        until_true 30 test -S "$live_dir/runner.run/runner.sock" || return 1
        live_start portald
        until_true 30 live_serves
}

field()
{
        portal show "$1" --json | python3 -c 'import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v.get(k, "") if isinstance(v, dict) else ""
print(v)' "$2"
}

job_pid()
{
        local id
        id=$(field "$1" id)
        python3 - "$id" <<'PY'
import os, sys
best = None
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        env = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
        started = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19])
    except (OSError, IndexError):
        continue
    if b"PORTAL_JOB_ID=" + sys.argv[1].encode() in env and (best is None or (started, int(pid)) < best):
        best = (started, int(pid))
print(best[1] if best else "", best[0] if best else "")
PY
}

live_down()
{
        local job pid
        [ -n "$live_dir" ] && [ -d "$live_dir" ] || return 0
        if live_serves >/dev/null 2>&1; then
                for job in $(portal ps --json 2>/dev/null | python3 -c 'import json, sys; [print(j["id"]) for j in json.load(sys.stdin)["jobs"]]' 2>/dev/null); do
                        portal stop "$job" >/dev/null 2>&1
                done
                until_true 60 live_idle
        fi
        live_kill portald
        live_kill portal-runner
        # whatever still has this directory's files open or mounted was started by us
        for pid in $(grep -lsaF "$live_dir/" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3); do
                [ "$pid" = $$ ] || kill -9 "$pid" 2>/dev/null
        done
        grep -F " $live_dir/" /proc/self/mounts | cut -d' ' -f2 | sort -r | while read -r m; do umount -l "$m"; done
        rm -rf --one-file-system "$live_dir"
}

live_idle()
{
        [ "$(portal ps --json | python3 -c 'import json, sys; print(sum(j["state"] not in ("ended", "suspended") for j in json.load(sys.stdin)["jobs"]))')" = 0 ]
}
