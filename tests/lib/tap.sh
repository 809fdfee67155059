# SPDX-License-Identifier: Apache-2.0
# TAP for the scripted tests (source it): a row is a sentence, failures go on; tap_done at the end.
tap_n=0 tap_bad=0

# ok NAME COMMAND...: the command succeeds; what it printed is shown when it does not.
ok()
{
        local name=$1 out
        shift
        tap_n=$((tap_n + 1))
        if out=$("$@" 2>&1); then
                printf 'ok %d - %s\n' $tap_n "$name"
                return 0
        fi
        tap_bad=$((tap_bad + 1))
        printf 'not ok %d - %s\n' $tap_n "$name"
        note "$out"
        return 1
}

# is NAME GOT WANT
is()
{
        tap_n=$((tap_n + 1))
        if [ "$2" = "$3" ]; then
                printf 'ok %d - %s\n' $tap_n "$1"
                return 0
        fi
        tap_bad=$((tap_bad + 1))
        printf 'not ok %d - %s\n' $tap_n "$1"
        note "got: $2"
        note "want: $3"
        return 1
}

# has NAME TEXT PART: PART is in TEXT.
has()
{
        tap_n=$((tap_n + 1))
        case $2 in
        *"$3"*)
                printf 'ok %d - %s\n' $tap_n "$1"
                return 0
                ;;
        esac
        tap_bad=$((tap_bad + 1))
        printf 'not ok %d - %s\n' $tap_n "$1"
        note "want in it: $3"
        note "got: $2"
        return 1
}

skip() # NAME REASON
{
        tap_n=$((tap_n + 1))
        printf 'ok %d - %s # SKIP %s\n' $tap_n "$1" "$2"
}

note()
{
        printf '%s\n' "$1" | sed 's/^/# /'
}

skip_all() # REASON: nothing of this file can run here
{
        printf '1..0 # SKIP %s\n' "$1"
        exit 0
}

tap_done()
{
        printf '1..%d\n' $tap_n
        [ $tap_bad = 0 ]
        exit
}
