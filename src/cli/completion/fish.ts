import { type CommandNode, flatten, type Value } from './command-tree.ts';

/** Within single quotes fish reads a backslash before a quote or another backslash. */
const fishQuote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

function fishValue({ choices, files }: Value): string {
  if (files) return '-r -F';
  return choices.length > 0 ? `-x -a ${fishQuote(choices.join(' '))}` : '-x';
}

function fishLines(node: CommandNode): string[] {
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

export function fish(root: CommandNode): string {
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
