import { TextArea } from '../../components/field.tsx';
import type { FormField } from '../../components/form-field.ts';
import { FormFields } from '../../components/form-fields.tsx';
import { parsed } from '../../components/json.ts';
import { sampleName } from '../../components/sample.ts';
import { bodyOf, type Endpoint, parametersOf } from './document.ts';
import type { Draft } from './draft.ts';
import { defaultText, fieldsOf, fileKind, type ShownField, typeText } from './schema.ts';

interface EditorProps {
  readonly endpoint: Endpoint;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

/** Fields for the parameters and the body of a request. */
export function Editor({ endpoint, draft, onDraft }: EditorProps) {
  const body = bodyOf(endpoint);
  const fields = body?.isForm ? fieldsOf(body.content.schema) : [];
  const others = fields.filter((field) => !isMain(field));
  return (
    <>
      <FormFields
        fields={[
          ...parametersOf(endpoint).map((field) => formFieldOf(field, endpoint)),
          ...fields.map((field) => ({
            ...formFieldOf(field, endpoint),
            isRare: others.includes(field),
          })),
        ]}
        {...draft}
        more={`${others.length} further fields`}
        onValues={(changed) => onDraft({ ...draft, values: { ...draft.values, ...changed } })}
        onFiles={(changed) => onDraft({ ...draft, files: { ...draft.files, ...changed } })}
      />
      {body && !body.isForm && (
        <TextArea
          label="Body"
          class="mono"
          rows={Math.min(16, draft.json.split('\n').length + 1)}
          spellcheck={false}
          value={draft.json}
          onValue={(json) => onDraft({ ...draft, json })}
          error={parsed(draft.json) !== undefined ? undefined : 'This is not valid JSON.'}
        />
      )}
    </>
  );
}

/** Whether a field of a form is a file or part of the example. */
function isMain({ schema, isRequired }: ShownField): boolean {
  return isRequired || (schema.examples?.[0] ?? '') !== (schema.default ?? '');
}

function formFieldOf({ name, schema, isRequired }: ShownField, { path }: Endpoint): FormField {
  const files = fileKind(schema);
  if (files) {
    const hint = `Without a choice, ${sampleName(path)} of this page is sent.`;
    const kind = files === 'many' ? 'files' : 'file';
    return { name, label: name, kind, ...(isRequired && { hint }) };
  }
  const { default: byDefault } = schema;
  if (typeof byDefault === 'boolean') return { name, label: name, kind: 'switch', byDefault };
  const preset = defaultText(schema);
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String);
  const none = ['', preset === '' ? 'not given' : `${preset} (default)`] as const;
  return {
    ...{ name, label: name, isRequired, placeholder: preset || typeText(schema) },
    ...(choices && { choices: isRequired ? choices : [none, ...choices] }),
  };
}
