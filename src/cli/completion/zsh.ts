import { type CommandNode, type Flag, flatten, quote, type Value } from './command-tree.ts';

/** A summary within the brackets or after the colon of a zsh specification. */
const zshText = (text: string): string => text.replace(/[\\[\]:]/g, '\\$&');

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

function zshFunction(node: CommandNode): string {
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

export function zsh(root: CommandNode): string {
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
