# SPDX-License-Identifier: Apache-2.0
# bash completion for portal: commands and flags as the program itself lists them, jobs and machines as the daemon does.
_portal_ids() # KIND: ids and names of jobs, machines or offers; nothing where the daemon does not answer
{
        case $1 in
        machines | offers) portal "$1" 2>/dev/null | awk 'NR > 1 { print $1 }' ;;
        *) portal ps -a 2>/dev/null | awk 'NR > 1 { print $1; print $2 }' ;;
        esac
}

_portal()
{
        local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}

        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
                mapfile -t COMPREPLY < <(compgen -W "$(portal help --commands 2>/dev/null)" -- "$word")
                return
        fi
        if [ "${COMP_WORDS[COMP_CWORD - 1]}" = --why-not ] || [ "$command" = prices ] && [ "${word#-}" = "$word" ]; then
                mapfile -t COMPREPLY < <(compgen -W "$(_portal_ids offers)" -- "$word")
                return
        fi
        case $word in
        -*)
                mapfile -t COMPREPLY < <(compgen -W "$(portal help --flags "$command" 2>/dev/null)" -- "$word")
                return
                ;;
        esac
        case $command in
        show | logs | explain | precheck | suspend | move | resume | stop | cost)
                mapfile -t COMPREPLY < <(compgen -W "$(_portal_ids jobs)" -- "$word")
                ;;
        notice)
                mapfile -t COMPREPLY < <(compgen -W "$(_portal_ids machines)" -- "$word")
                ;;
        help)
                mapfile -t COMPREPLY < <(compgen -W "$(portal help --commands 2>/dev/null)" -- "$word")
                ;;
        *)
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
                ;;
        esac
}
complete -F _portal portal
