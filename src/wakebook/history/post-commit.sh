#!/bin/sh
@MARK@; `wakebook init` brings it up to date, and removes it if [git] hooks = false.
[ -z "$@CHECKED@" ] || exit 0
set -- @FOLDERS@ log.jsonl subjects.json
changed=$(git diff-tree -m -r --root --no-commit-id --name-only HEAD -- "$@")
[ -n "$changed" ] || exit 0
python=@PYTHON@
if [ -x "$python" ]; then
  set -- "$python" -P -m wakebook
elif command -v wakebook >/dev/null 2>&1; then
  set -- wakebook
else
  echo "wakebook: not found, so its post-commit hook did nothing. \`wakebook init\` mends it." >&2
  exit 0
fi
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
nohup "$@" --home "$PWD" git-hook post-commit </dev/null >/dev/null 2>&1 &
exit 0
