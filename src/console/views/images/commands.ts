import { wordOf } from '../../../clients/quoting.ts';
import type { ShownRequest } from '../../components/shown-request.ts';
import { itemsOf, sentFields } from './operations.ts';
import type { Job } from './store.ts';

/** Files that a command names one by one. */
const MAX_NAMED = 4;

/** Name of the recipe that a command writes. */
const RECIPE = 'recipe.yaml';

/** The request for the first files of a list. @param paths of the files; an example if there are none */
export function requestOf(
  { operation, values, files }: Job,
  paths: readonly string[],
): ShownRequest {
  const named = paths.length === 0 ? ['photo.jpg'] : paths.slice(0, MAX_NAMED);
  return {
    method: 'POST',
    path: operation.endpoint.slice(1),
    form: [
      ...named.map((file) => ['files', { file }] as const),
      ...sentFields(operation, values),
      ...Object.entries(files).flatMap(([name, list]) =>
        list.map((file) => [name, { file: file.name }] as const),
      ),
    ],
    ...(operation.gives === 'image' && { output: `${operation.name}.zip` }),
  };
}

/** The same work by the command line. */
export function commandOf({ operation, values, files }: Job, paths: readonly string[]): string {
  const words = ['oriel', operation.name];
  const lines: string[] = [];
  for (const [name, value] of sentFields(operation, values)) {
    const field = operation.fields.find((one) => one.name === name)!;
    const flag = flagOf(name);
    if (field.presets) {
      const isPreset = field.presets.some((preset) => preset.name === value.trim());
      words.push(isPreset ? value.trim() : RECIPE);
      if (!isPreset) lines.push(`cat > ${RECIPE} <<'RECIPE'`, value.trimEnd(), 'RECIPE');
    } else if (field.type === 'boolean') {
      if (value !== String(field.default)) {
        words.push(value === 'true' ? flag : `--no-${flag.slice(2)}`);
      }
    } else if (field.repeatable) {
      for (const item of itemsOf(value)) words.push(flag, wordOf(item));
    } else words.push(flag, wordOf(value.trim()));
  }
  for (const { name, repeatable } of operation.fields) {
    // The images of a recipe are paths in it.
    if (!repeatable)
      for (const file of files[name] ?? []) words.push(flagOf(name), wordOf(file.name));
  }
  if (operation.gives === 'image') words.push('--out', 'results');
  return [...lines, [...words, ...inputsOf(paths)].join(' ')].join('\n');
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Arguments for the files: their paths, or if they are many a folder or patterns. */
function inputsOf(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return ['photo.jpg'];
  if (paths.length <= MAX_NAMED) return paths.map((path) => pathWord(path));
  const folders = new Set(paths.map((path) => (path.includes('/') ? path.split('/')[0]! : '.')));
  if (!folders.has('.')) return ['--recursive', ...[...folders].map((path) => pathWord(path))];
  const endings = new Set(paths.map((path) => /\.[A-Za-z0-9]+$/.exec(path)?.[0] ?? ''));
  return [...endings].map((ending) => `*${ending}`);
}

/** A path as an argument that is no flag. */
const pathWord = (path: string): string => wordOf(path.startsWith('-') ? `./${path}` : path);
