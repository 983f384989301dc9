# Runs git for git.exe: its input, output and exit code are files next to the one that is named first.
file=$1
shift
git "$@" <"$file.in" >"$file.out" 2>"$file.err"
echo $? >"$file.new"
mv "$file.new" "$file"
