#!/bin/bash
# Controller prolog and epilog of the campaign: takes a moment, and reports a second hook of the same attempt and kind at the same
# time.
folder=${0%/*}/hooks
exec 9>"$folder/$ROTA_HOOK.$ROTA_STEP_LABEL.$ROTA_ATTEMPT"
flock -n 9 || echo "$ROTA_HOOK of $ROTA_STEP_LABEL, attempt $ROTA_ATTEMPT" >>"$folder/beside"
[ $((RANDOM % 4)) -gt 0 ] || sleep "0.$((RANDOM % 4))"
