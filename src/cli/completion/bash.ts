import { groupBy } from '../../maps.ts';
import { type CommandNode, flatten, quote, type Value, words } from './command-tree.ts';

type Case = readonly [key: string, action: string];

/** The branches of a bash `case`; keys that share an action share a branch. */
function bashCases(cases: readonly Case[], indent: string): string {
  const branches = groupBy(cases, ([, action]) => action);
  const namesOf = (alike: readonly Case[]) => alike.map(([key]) => quote(key)).join(' | ');
  return [...branches]
    .map(([action, alike]) => `${indent}${namesOf(alike)}) ${action} ;;`)
    .join('\n');
}

function bashValue({ choices, files }: Value): string {
  return files ? 'files=yes' : `replies=(${words(choices)})`;
}

function bashOperand({ children, operand }: CommandNode): string {
  if (children.length > 0) return `replies=(${words(children.map(({ name }) => name))})`;
  return operand ? bashValue(operand) : ':';
}

export function bash(root: CommandNode): string {
  const nodes = flatten(root);
  const paths = nodes.slice(1).map(({ path }): Case => [path, 'command+=" $flag"']);
  const values = nodes.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, value }) =>
      value ? names.map((name): Case => [`${path} ${name}`, bashValue(value)]) : [],
    ),
  );
  const flags = nodes.map(
    (node): Case => [node.path, `replies=(${words(node.flags.flatMap(({ names }) => names))})`],
  );
  const operands = nodes.map((node): Case => [node.path, bashOperand(node)]);
  return `# Completes oriel's command line in bash. Load it with: eval "$(oriel completion bash)"
_oriel() {
  local command=${quote(root.path)} flag='' prefix='' lead='' files=no ended=no joint=no index word
  local -a typed=() replies=()
  # Bash breaks words at "=" and ":" as well, and completes the last piece only.
  for ((index = 0; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word =~ ^[:=]+$ ]]; then
      typed[\${#typed[@]} - 1]+=$word joint=yes
      lead=\${typed[\${#typed[@]} - 1]}
    elif [[ $joint == yes ]]; then
      typed[\${#typed[@]} - 1]+=$word joint=no
    else
      typed+=("$word") lead=''
    fi
  done
  word=\${typed[\${#typed[@]} - 1]}
  for ((index = 1; index < \${#typed[@]} - 1; index++)); do
    flag=\${typed[index]}
    [[ $flag == -- ]] && ended=yes
    case "$command $flag" in
${bashCases(paths, '      ')}
    esac
  done
  if [[ $ended == yes ]]; then
    flag=''
  elif [[ $word == --*=* ]]; then
    flag=\${word%%=*} prefix=\${word%%=*}=
  fi
  case "$command $flag" in
${bashCases(values, '    ')}
    *)
      if [[ $ended == no && $word == -* ]]; then
        case $command in
${bashCases(flags, '          ')}
        esac
      else
        case $command in
${bashCases(operands, '          ')}
        esac
      fi
      ;;
  esac
  COMPREPLY=()
  for flag in "\${replies[@]}"; do
    flag=$prefix$flag
    [[ $flag == "$word"* ]] && COMPREPLY+=("\${flag:\${#lead}}")
  done
  # Without a reply bash falls back to file names; compopt, since bash 4, prevents that.
  [[ $files == yes ]] || compopt +o bashdefault +o default 2> /dev/null
  return 0
}
complete -o bashdefault -o default -F _oriel oriel
`;
}
