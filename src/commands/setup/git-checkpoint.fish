# Completion of `git checkpoint <TAB>` in fish. Written by `git checkpoint setup`; remove it with --uninstall.
#
# fish's own completion for git asks that of git-checkpoint. Only that of fish 3.6.0 waits for the word 'git-checkpoint'
# where 'checkpoint' stands (fish-shell#9457), so there a rule is added to it, for which this is read at the start.

function __git_checkpoint_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines (command git checkpoint setup --candidates (count $words) -- git-checkpoint $words[2..-1] "$current" 2>/dev/null)
    for line in $lines
        # An empty value asks for file names.
        if string match -q \t'*' -- $line
            set -l option (string match -r -- '^--[^=]*=' $current)
            for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $current))
                echo "$option$path"
            end
        else
            echo $line
        end
    end
end

complete -c git-checkpoint -f -k -a '(__git_checkpoint_candidates)'

if string match -q '3.6.0*' -- $version
    complete -c git -f -n '__fish_git_using_command checkpoint' -a '(__fish_git_complete_custom_command checkpoint)'
end
