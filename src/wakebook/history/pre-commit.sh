#!/bin/sh
@MARK@; `wakebook init` brings it up to date, and removes it if [git] hooks = false.
[ -z "$@CHECKED@" ] || exit 0
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
