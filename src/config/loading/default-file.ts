import type * as v from 'valibot';
import { stringify } from 'yaml';
import { describeField, metadataOf } from '../../schema/fields.ts';
import { childrenOf } from '../../schema/walk.ts';
import { configSchema } from '../settings/schema.ts';
import { editorSchema, type JsonSchema } from '../yaml/editor-schema.ts';
import { EXAMPLES } from './examples.ts';

/** Columns of a line of comment, without its indentation. */
const WIDTH = 100;

const HEADER = `# yaml-language-server: $schema=./oriel.schema.json
#
# Every setting of Oriel with its default. npm run docs writes this file from the declarations in
# src/config. Copy what you want to change into an oriel.yaml of your own; settings that a file leaves
# out have the values below.
#
# Durations carry their unit (250ms, 30s, 10m, 1.5h, 7d), and so do sizes (512KB, 64MB, 2GB; 1 KB is
# 1000 bytes, 1 KiB 1024). \${NAME} stands for a variable of the environment, \${NAME:-text} gives it a default,
# and $\${ is written for \${ itself.
#
# Oriel reads --config, or else ORIEL_CONFIG, or else oriel.yaml in the folder it is started in.
# \`oriel config check\` names every fault; \`oriel config print\` shows the effective settings. On SIGHUP
# the daemon reads the file again; settings marked (restart) take effect at the next start.
`;

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
const commented = (lines: readonly string[]) => lines.map((line) => `# ${line}`);

function comment(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return commented(lines);
}

/** A value on one line. */
function inline(value: unknown): string {
  const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  // yaml separates what is in brackets by spaces, too.
  return text.replace(/\[ (.*?) \]/g, '[$1]');
}

/** One setting with its description; commented out if neither it nor its section has a default. */
function settingLines(name: string, schema: v.GenericSchema, isExample = false): string[] {
  const { description, default: preset } = describeField(name, schema);
  const { restart, example } = metadataOf(schema);
  const about = comment(`${description}${restart ? ' (restart)' : ''}`);
  const isUnset = preset === undefined && !isExample;
  const children = childrenOf(schema, {});
  if (children === null || !('entries' in children)) {
    const examples = EXAMPLES[name];
    if (examples) return [...about, `${name}:`, ...indented(exampleLines(schema, examples))];
    const line = `${name}: ${inline(preset ?? example)}`;
    return [...about, ...(isUnset ? commented([line]) : [line])];
  }
  const section = [
    `${name}:`,
    ...indented(
      Object.entries(children.entries).flatMap(([key, entry]) =>
        settingLines(key, entry, preset === undefined),
      ),
    ),
  ];
  return [...about, ...(isUnset ? commented(section) : section)];
}

/** Named examples of a record, commented out. Each description is written where it is first needed. */
function exampleLines(
  schema: v.GenericSchema,
  examples: Readonly<Record<string, object>>,
): string[] {
  const written = new Set<string>();
  const about = (entry: v.GenericSchema) => {
    const { description } = describeField('', entry);
    if (description === '' || written.has(description)) return [];
    written.add(description);
    return comment(description);
  };
  return Object.entries(examples).flatMap(([name, example]) => {
    const record = childrenOf(schema, examples) as { readonly each: v.GenericSchema };
    const { entries } = childrenOf(record.each, example) as {
      readonly entries: Readonly<Record<string, v.GenericSchema>>;
    };
    const { kind } = entries;
    const above = kind ? about(kind) : [];
    const settings = Object.entries(example).flatMap(([key, value]) => [
      ...about(entries[key]!),
      ...valueLines(key, value),
    ]);
    return [...above, ...commented([`${name}:`, ...indented(settings)])];
  });
}

function valueLines(name: string, value: unknown): string[] {
  const line = `${name}: ${inline(value)}`;
  if (line.length <= WIDTH || typeof value !== 'object' || value === null) return [line];
  if (Array.isArray(value)) return [`${name}:`, ...value.map((item) => `  - ${inline(item)}`)];
  return [
    `${name}:`,
    ...indented(Object.entries(value).flatMap(([key, part]) => valueLines(key, part))),
  ];
}

/** The text of config/default.yaml: every setting with its description and its default. */
export function defaultFile(): string {
  const lines: string[] = [HEADER];
  for (const [name, schema] of Object.entries(configSchema.entries)) {
    lines.push(...settingLines(name, schema));
    // The formatter removes an empty line between comments.
    if (!lines.at(-1)!.trimStart().startsWith('#')) lines.push('');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

/** The JSON Schema by which editors check a configuration file. */
export function configJsonSchema(): JsonSchema {
  return editorSchema('Oriel configuration', configSchema);
}
