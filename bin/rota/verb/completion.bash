# bash completion for rota, printed by `rota completion`.
#
# `rota completion` writes a case for each verb, and one for each object of `rota admin`. A verb's case sets
#   operands  the kind of its operands (a kind of `rota completion KIND`, "file", or the words themselves)
#   options   its options
#   values    OPTION:KIND for each option whose value can be completed
_rota() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} option= head= offered pair
	local operands= options= values= kind=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		operands=verb
	else
		case ${COMP_WORDS[1]} in
# VERBS
		esac
	fi
	if [[ ${COMP_WORDS[1]} == admin && $COMP_CWORD -gt 2 ]]; then
		case $COMP_CWORD:${COMP_WORDS[2]} in
# OBJECTS
		4:node) operands=node ;;
		*) operands= ;;
		esac
	fi
	# readline splits --option=value into three words, or leaves one word where COMP_WORDBREAKS has no "=".
	if [[ $word == --*=* ]]; then
		option=${word%%=*} head=${word%%=*}= word=${word#*=}
	elif [[ $word == = ]]; then
		option=$before word=
	elif [[ $before == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $before == -* && " $values" == *" $before:"* ]]; then
		option=$before
	fi
	kind=$operands
	[[ ${COMP_WORDS[1]} != signal || $COMP_CWORD -ne 2 ]] || kind=signal
	if [ -n "$option" ]; then
		kind=
		for pair in $values; do
			[[ $pair != "$option":* ]] || kind=${pair#*:}
		done
		if [[ $word == *,* && $kind != file ]]; then
			head=$head${word%,*}, word=${word##*,}
		fi
	elif [[ $word == -* ]]; then
		kind=$options
	fi
	case $kind in
	file)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -P "$head" -f -- "$word")
		return ;;
	job | past) [[ $word != *.* ]] || kind="step ${word%%.*}" ;;&
	job | past | verb | object | node | partition | account | qos | license | reservation | state | event | signal)
		mapfile -t offered < <("${COMP_WORDS[0]}" completion $kind 2>/dev/null) ;;
	*) read -ra offered <<<"${kind//|/ }" ;;
	esac
	for pair in "${offered[@]}"; do
		[[ $pair != "$word"* ]] || COMPREPLY+=("$head$pair")
	done
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -F _rota rota
