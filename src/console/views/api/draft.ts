import { withQuery } from '../../api/request.ts';
import type { Model } from '../../api/resource.ts';
import type { Files, Values } from '../../components/form-field.ts';
import { parsed } from '../../components/json.ts';
import { sampleFile, sampleName } from '../../components/sample.ts';
import type { ShownField as FormField, ShownRequest } from '../../components/shown-request.ts';
import { bodyOf, type Endpoint } from './document.ts';
import { fieldsOf, fileKind } from './schema.ts';

/** A request as the reader edits it. A file that is required and missing is sent as the sample. */
export interface Draft {
  /** Of parameters and of a form. */
  readonly values: Values;
  readonly files: Files;
  /** Text of a JSON body. */
  readonly json: string;
}

/** The example of an endpoint, which succeeds as it is. @param models of the key; empty without a session */
export function exampleOf(endpoint: Endpoint, models: readonly Model[]): Draft {
  const body = bodyOf(endpoint);
  const known = (name: unknown) => modelFor(endpoint, models, name);
  const parameters = (endpoint.parameters ?? []).map(({ name, in: place, example }) => {
    const isModel = place === 'path' && ['Models', 'Text'].includes(endpoint.tags[0]!);
    const text = example === undefined ? '' : String(example);
    return [name, isModel ? String(known(text === '' ? 'sandbox-chat' : text)) : text];
  });
  const example = body?.content.example;
  const json =
    typeof example === 'object' && example !== null && 'model' in example
      ? { ...example, model: known(example.model) }
      : example;
  const fields = body?.isForm
    ? fieldsOf(body.content.schema)
        .filter(({ schema }) => fileKind(schema) === null)
        .map(({ name, schema }) => {
          const value = schema.examples?.[0] ?? '';
          return [
            name,
            value === schema.default ? '' : String(name === 'model' ? known(value) : value),
          ];
        })
    : [];
  return {
    values: Object.fromEntries([...parameters, ...fields]),
    json: json === undefined ? '' : JSON.stringify(json, null, 2),
    files: {},
  };
}

/** A model of the key that an endpoint takes: that of the example, else the first one. */
function modelFor({ path }: Endpoint, models: readonly Model[], example: unknown): unknown {
  if (models.length === 0 || models.some(({ id }) => id === example)) return example;
  const pattern = path.replace('{model}', ':model');
  const fitting = models.find(({ endpoints }) => endpoints.includes(pattern)) ?? models[0]!;
  return fitting.id;
}

/** Path and query of a draft, relative to the server. */
export function pathOf({ path, parameters = [] }: Endpoint, draft: Draft): string {
  let filled = path.slice(1);
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) {
    const value = draft.values[name] ?? '';
    if (place === 'path') {
      filled = filled.replace(`{${name}}`, value.split('/').map(encodeURIComponent).join('/'));
    } else if (value !== '') query.set(name, value);
  }
  return withQuery(filled, query);
}

/** The draft as a command or as code. */
export function shownRequest(endpoint: Endpoint, draft: Draft): ShownRequest {
  const { method, responses } = endpoint;
  const body = bodyOf(endpoint);
  const shown = { method, path: pathOf(endpoint, draft), isOpen: endpoint.security?.length === 0 };
  const types = Object.keys(responses['200']?.content ?? {});
  const output = types.includes('application/zip')
    ? { output: 'images.zip' }
    : types.some((type) => type.startsWith('audio/'))
      ? { output: 'speech.wav' }
      : {};
  if (!body) return { ...shown, ...output };
  if (!body.isForm) {
    const json = parsed(draft.json);
    const isStream =
      (json as { stream?: unknown } | undefined)?.stream === true ||
      (types.length === 1 && types[0] === 'text/event-stream');
    return { ...shown, ...output, json: json ?? {}, isStream };
  }
  const form = entriesOf(endpoint, draft).map(
    ([name, value]): FormField => [
      name,
      typeof value === 'string' ? value : { file: value?.name ?? sampleName(endpoint.path) },
    ],
  );
  return { ...shown, ...output, form };
}

/** The fields of a form that are sent; null stands for the sample. */
function entriesOf(endpoint: Endpoint, { values, files }: Draft) {
  type Entry = readonly [name: string, value: string | File | null];
  const { schema: form } = bodyOf(endpoint)!.content;
  return fieldsOf(form).flatMap(({ name, schema, isRequired }): Entry[] => {
    const value = values[name] ?? '';
    if (fileKind(schema) === null) return value === '' ? [] : [[name, value]];
    const chosen = files[name] ?? [];
    if (chosen.length === 0 && isRequired) return [[name, null]];
    return chosen.map((file) => [name, file]);
  });
}

/** The draft's form. */
export async function formOf(endpoint: Endpoint, draft: Draft): Promise<FormData> {
  const form = new FormData();
  for (const [name, value] of entriesOf(endpoint, draft)) {
    form.append(name, value ?? (await sampleFile(endpoint.path)));
  }
  return form;
}
