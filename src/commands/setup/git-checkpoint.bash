# Completion of `git checkpoint <TAB>` in bash. Written by `git checkpoint setup`; remove it with --uninstall.
#
# git's own completion calls _git_checkpoint; nothing is registered for the command git itself. The same file completes
# the command git-checkpoint.

# Replies to the word being completed. Argument: the place of the command's name in words. Uses words and cword as git's
# completion sets them, and calls git with the options given before the command.
__git_checkpoint_reply ()
{
	local at=$1 i line value
	# readline splits words at @ as well: what stands together on the line is one word.
	local rest=$COMP_LINE last=0
	local -a joined
	joined=(git-checkpoint)
	for ((i = 0; i <= cword; i++)); do
		value=${words[i]}
		if ((i > at)); then
			if [ -n "$value" ] && ((last > 0)) && [ "${rest#"$value"}" != "$rest" ]; then
				joined[last]+=$value
			else
				last=$((last + 1))
				joined[last]=$value
			fi
		fi
		rest=${rest#*"$value"}
	done
	local cur=${joined[last]}
	local run=git
	if declare -f __git >/dev/null; then run=__git; fi
	COMPREPLY=()
	# Sessions come before ids, the latest first; bash knows this from 4.4 on.
	compopt -o nosort 2>/dev/null
	# readline only replaces what stands behind the last of its word breaks, such as =; an @ begins what it replaces.
	local breaks=${COMP_WORDBREAKS//@/} fixed
	fixed=${cur%"${cur##*[$breaks]}"}
	value=${cur#"$fixed"}
	case "$COMP_WORDBREAKS$value" in
	*@*@*) fixed=$fixed${value%@*} ;;
	esac
	while IFS= read -r line; do
		value=${line%%$'\t'*}
		# An empty value asks for file names, which bash completes itself when there is no reply.
		if [ -z "$value" ]; then COMPREPLY=(); return; fi
		case "$value" in
		"$cur"*) ;;
		*) continue ;;
		esac
		value=${value#"$fixed"}
		case "$value" in
		*= | */) ;;
		*) value="$value " ;;
		esac
		COMPREPLY+=("$value")
	done < <($run checkpoint setup --candidates "$last" -- "${joined[@]}" 2>/dev/null)
}

# Called by git's completion, which sets words and cword, and __git_cmd_idx since git 2.30.
_git_checkpoint ()
{
	__git_checkpoint_reply "${__git_cmd_idx:-1}"
}

_git_checkpoint_alone ()
{
	local cword
	local -a words
	if declare -f _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n "=:@" words cword
	else
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	fi
	__git_checkpoint_reply 0
}

complete -o bashdefault -o default -o nospace -F _git_checkpoint_alone git-checkpoint
