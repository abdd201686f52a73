#!/bin/sh
@MARK@; `wakebook init` brings it up to date, and removes it if [git] hooks = false.
[ -z "$@CHECKED@" ] || exit 0
new="git diff --cached --name-only --no-renames --diff-filter=A -z"
private=$({ $new -- @PRIVATE@; $new | git check-ignore --no-index -z --stdin; } | tr '\0' '\n' | sort -u)
if [ -n "$private" ]; then
  echo "wakebook: not committed. These files are private, or .gitignore names them:" >&2
  echo "$private" | sed 's/^/  /' >&2
  echo "\`git restore --staged FILE\` takes one out; \`git commit --no-verify\` commits it anyway." >&2
  exit 1
fi
git diff --cached --quiet -- @FOLDERS@ && exit 0
python=@PYTHON@
if [ -x "$python" ]; then
  set -- "$python" -P -m wakebook
elif command -v wakebook >/dev/null 2>&1; then
  set -- wakebook
else
  echo "wakebook: not found, so its pre-commit hook did nothing. \`wakebook init\` mends it." >&2
  exit 0
fi
"$@" --home "$PWD" git-hook pre-commit
code=$?
[ $code -ne @REFUSED@ ] || exit 1
[ $code -eq 0 ] || echo "wakebook: this commit could not be checked (code $code)." >&2
exit 0
