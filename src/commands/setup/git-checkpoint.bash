# Completion of `git checkpoint <TAB>` in bash. Written by `git checkpoint setup`; remove it with --uninstall.
#
# git's own completion calls _git_checkpoint; nothing is registered for the command git itself. The same file completes
# the command git-checkpoint.

# Replies to the word being completed. Arguments: how many words stand between the command's name and that word, then
# the command's name and all words up to that word. Uses cur; calls git with the options given before the command.
__git_checkpoint_reply ()
{
	local count=$1 line value
	shift
	local run=git
	if declare -f __git >/dev/null; then run=__git; fi
	COMPREPLY=()
	# readline only replaces what stands behind the last of its word breaks, such as = or @.
	local fixed=${cur%"${cur##*[$COMP_WORDBREAKS]}"}
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
	done < <($run checkpoint setup --candidates "$count" -- "$@" 2>/dev/null)
}

# Called by git's completion, which sets words, cword and cur, and __git_cmd_idx since git 2.30.
_git_checkpoint ()
{
	local at=${__git_cmd_idx:-1}
	__git_checkpoint_reply $((cword - at)) git-checkpoint "${words[@]:at+1:cword-at}"
}

_git_checkpoint_alone ()
{
	local cur cword
	local -a words
	if declare -f _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n "=:@" cur words cword
	else
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
	fi
	__git_checkpoint_reply "$cword" git-checkpoint "${words[@]:1:cword}"
}

complete -o bashdefault -o default -o nospace -F _git_checkpoint_alone git-checkpoint
