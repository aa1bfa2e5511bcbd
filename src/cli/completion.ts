import { type Field, fieldsOf } from '../schema/fields.ts';
import type { CommandDefinition } from './command.ts';
import { flagNames } from './flags.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** Completions of a value: its choices, or else file names, or else none. */
interface Value {
  readonly name: string;
  readonly choices: readonly string[];
  readonly files: boolean;
}

interface Flag {
  /** As typed, dashes included. */
  readonly names: readonly string[];
  readonly summary: string;
  /** Undefined for a switch. */
  readonly value: Value | undefined;
}

interface Node {
  /** The words that lead to the command: `oriel convert`. */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly children: readonly Node[];
  readonly flags: readonly Flag[];
  /** The first positional; undefined where the command takes none. */
  readonly operand: Value | undefined;
}

const HELP: Flag = { names: ['-h', '--help'], summary: 'print help', value: undefined };
const VERSION: Flag = {
  names: ['-V', '--version'],
  summary: 'print the version',
  value: undefined,
};

function flagOfField(field: Field): Flag {
  const { name, description, kind, choices, path } = field;
  return {
    names: flagNames(field),
    summary: description,
    value: kind === 'boolean' ? undefined : { name, choices, files: path },
  };
}

function nodeOf(definition: CommandDefinition, above: string): Node {
  const { name, summary, flags = [], subcommands = [], positionals = [] } = definition;
  const path = `${above} ${name}`;
  const [first] = positionals;
  const fields = flags.flatMap(({ schema, except = [] }) =>
    fieldsOf(schema).filter((field) => !except.includes(field.name)),
  );
  return {
    path,
    name,
    summary,
    children: childrenOf(subcommands, path),
    flags: [...fields.map(flagOfField), HELP],
    operand: first && {
      name: first.name,
      choices: first.choices ?? [],
      files: first.path ?? false,
    },
  };
}

/** The nodes of commands below one path, with the `help` that commander adds to each group. */
function childrenOf(commands: readonly CommandDefinition[], path: string): Node[] {
  if (commands.length === 0) return [];
  const help: Node = {
    path: `${path} help`,
    name: 'help',
    summary: 'print help for a command',
    children: [],
    flags: [],
    operand: { name: 'command', choices: commands.map(({ name }) => name), files: false },
  };
  return [...commands.map((command) => nodeOf(command, path)), help];
}

function rootOf(commands: readonly CommandDefinition[]): Node {
  return {
    path: 'oriel',
    name: 'oriel',
    summary: '',
    children: childrenOf(commands, 'oriel'),
    flags: [VERSION, HELP],
    operand: undefined,
  };
}

function flatten(node: Node): Node[] {
  return [node, ...node.children.flatMap(flatten)];
}

/** A word that every one of the three shells takes literally. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function words(texts: readonly string[]): string {
  return texts.map(quote).join(' ');
}

type Case = readonly [key: string, action: string];

/** The branches of a bash `case`; keys that share an action share a branch. */
function bashCases(cases: readonly Case[], indent: string): string {
  const keys = new Map<string, string[]>();
  for (const [key, action] of cases) keys.set(action, [...(keys.get(action) ?? []), quote(key)]);
  return [...keys]
    .map(([action, names]) => `${indent}${names.join(' | ')}) ${action} ;;`)
    .join('\n');
}

function bashValue({ choices, files }: Value): string {
  return files ? 'files=yes' : `replies=(${words(choices)})`;
}

function bashOperand({ children, operand }: Node): string {
  if (children.length > 0) return `replies=(${words(children.map(({ name }) => name))})`;
  return operand ? bashValue(operand) : ':';
}

function bash(root: Node): string {
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

/** A summary within the brackets or after the colon of a zsh specification. */
function zshText(text: string): string {
  return text.replace(/[\\[\]:]/g, '\\$&');
}

function zshAction({ choices, files }: Value): string {
  if (files) return '_files';
  return choices.length > 0 ? `(${choices.map((choice) => zshText(choice)).join(' ')})` : ' ';
}

function zshFlag({ names, summary, value }: Flag): string[] {
  return names.map((name) => {
    // Listing a flag's other names keeps zsh from offering them once one is given.
    const others = names.length > 1 ? `(${names.join(' ')})` : '';
    if (!value) return quote(`${others}${name}[${zshText(summary)}]`);
    const joint = name.startsWith('--') ? '=' : '+';
    const action = `${zshText(value.name)}:${zshAction(value)}`;
    return quote(`${others}${name}${joint}[${zshText(summary)}]:${action}`);
  });
}

function zshFunction(node: Node): string {
  const name = `_${node.path.replace(/[^A-Za-z0-9]/g, '_')}`;
  const flags = node.flags.flatMap(zshFlag);
  if (node.children.length === 0) {
    const operand = node.operand
      ? [quote(`*:${zshText(node.operand.name)}:${zshAction(node.operand)}`)]
      : [];
    return `${name}() {\n  _arguments -s -S ${[...flags, ...operand].join(' \\\n    ')}\n}`;
  }
  const list = node.children.map((child) => quote(`${zshText(child.name)}:${child.summary}`));
  const calls = node.children.map(
    (child) => `        ${quote(child.name)}) _${child.path.replace(/[^A-Za-z0-9]/g, '_')} ;;`,
  );
  return `${name}() {
  local curcontext=$curcontext state state_descr line
  local -A opt_args
  local -a commands=(
    ${list.join('\n    ')}
  )
  _arguments -C -s -S ${[...flags, "'1: :->command'", "'*:: :->words'"].join(' \\\n    ')} && return 0
  case $state in
    command) _describe -t commands command commands ;;
    words)
      case $words[1] in
${calls.join('\n')}
      esac
      ;;
  esac
}`;
}

function zsh(root: Node): string {
  // As a file named _oriel on fpath, zsh runs all of this as the completing function itself.
  return `#compdef oriel
# Completes oriel's command line in zsh. Load it with: source <(oriel completion zsh)
${flatten(root).map(zshFunction).join('\n')}
if [[ \${funcstack[1]} == _oriel ]]; then
  _oriel "$@"
else
  compdef _oriel oriel
fi
`;
}

/** Within single quotes fish reads a backslash before a quote or another backslash. */
function fishQuote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

function fishValue({ choices, files }: Value): string {
  if (files) return '-r -F';
  return choices.length > 0 ? `-x -a ${fishQuote(choices.join(' '))}` : '-x';
}

function fishLines(node: Node): string[] {
  const at = `complete -c oriel -n ${fishQuote(`__oriel_at ${node.path}`)}`;
  const flags = node.flags.map(({ names, summary, value }) => {
    const spellings = names.map((name) =>
      name.startsWith('--') ? `-l ${fishQuote(name.slice(2))}` : `-s ${fishQuote(name.slice(1))}`,
    );
    const taken = value ? ` ${fishValue(value)}` : '';
    return `${at} ${spellings.join(' ')}${taken} -d ${fishQuote(summary)}`;
  });
  const children = node.children.map(
    ({ name, summary }) => `${at} -a ${fishQuote(name)} -d ${fishQuote(summary)}`,
  );
  const { operand } = node;
  if (children.length > 0 || !operand) return [...children, ...flags];
  if (operand.files) return [`${at} -F`, ...flags];
  if (operand.choices.length === 0) return flags;
  return [`${at} -a ${fishQuote(operand.choices.join(' '))}`, ...flags];
}

function fish(root: Node): string {
  const nodes = flatten(root);
  const paths = nodes.slice(1).map(({ path }) => fishQuote(path));
  return `# Completes oriel's command line in fish. Load it with: oriel completion fish | source
function __oriel_command
    set -l command ${fishQuote(root.path)}
    for word in (commandline -opc)[2..]
        switch "$command $word"
            case ${paths.join(' ')}
                set command "$command $word"
        end
    end
    echo $command
end
function __oriel_at
    test (__oriel_command) = "$argv"
end
complete -c oriel -f
${nodes.flatMap(fishLines).join('\n')}
`;
}

const WRITERS: Readonly<Record<Shell, (root: Node) => string>> = { bash, zsh, fish };

/**
 * A shell's completion script: commands, flags, the choices of values, and file names. The script
 * contains all of them, because starting Oriel at each press of the tab key would take 100 ms.
 */
export function completionScript(commands: readonly CommandDefinition[], shell: Shell): string {
  return WRITERS[shell](rootOf(commands));
}
