# bash completion for gpuplan

# First column of a listing, without its heading.
_gpuplan_column() {
    gpuplan "$@" --color=never 2>/dev/null | sed -n 's/^  \([^ ][^ ]*\).*/\1/p'
}

_gpuplan_fields() {
    _gpuplan_column catalog fields | sed -n '/\./p; /^task$/p; /^ledger$/p' | sed 's/$/=/'
    printf '%s\n' model= hardware.gpu=
}

# Settings need no --set before them, and the last part of their path is enough: a job is completed as either or as a file.
_gpuplan_jobs() {
    [[ -n $1 ]] && compgen -W "$(_gpuplan_fields; _gpuplan_fields | sed -n 's/.*\.//p')" -- "$1"
    compgen -f -- "$1"
}

_gpuplan() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    local commands='plan batch link rank import catalog explain score version help'
    local options='--json --lang --color --version --help'
    for ((i = 1; i < COMP_CWORD; i++)); do
        case " $commands " in *" ${COMP_WORDS[i]} "*) command=${COMP_WORDS[i]} && break ;; esac
    done
    COMPREPLY=()
    compopt +o nospace 2>/dev/null
    case $before in
        --lang) mapfile -t COMPREPLY < <(compgen -W 'en zh-Hans' -- "$word") && return ;;
        --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$word") && return ;;
        --unit) mapfile -t COMPREPLY < <(compgen -W 'GiB GB' -- "$word") && return ;;
        --by) mapfile -t COMPREPLY < <(compgen -W 'group method' -- "$word") && return ;;
        --model | -m) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
        --set | -s)
            compopt -o nospace 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -W "$(_gpuplan_fields)" -- "$word")
            return
            ;;
    esac
    case $command in
        plan) options="$options --set --model --brief --verbose --unit" ;;
        batch) options="$options --brief" ;;
        link) options="$options --set --model" ;;
        rank) options="$options --set --model --filter --verbose --unit" ;;
        score) options="$options --by --worst" ;;
        import | catalog) options="$options --verbose --unit" ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
        return
    fi
    case $command in
        '' | help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word") ;;
        rank) mapfile -t COMPREPLY < <(compgen -W 'gpus instances models' -- "$word"; _gpuplan_jobs "$word") ;;
        catalog) mapfile -t COMPREPLY < <(compgen -W 'models gpus instances links fields formulas' -- "$word") ;;
        explain) mapfile -t COMPREPLY < <(compgen -W "$(_gpuplan_column explain)" -- "$word") ;;
        plan | link) mapfile -t COMPREPLY < <(_gpuplan_jobs "$word") ;;
        batch | import | score) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _gpuplan gpuplan
