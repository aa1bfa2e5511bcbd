import { Checkbox, Field, SelectField, TextArea, TextField } from '../../components/field.tsx';
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
  return (
    <>
      {parametersOf(endpoint).map((field) => (
        <ValueField
          key={field.name}
          field={field}
          {...bound('parameters', draft, field, onDraft)}
        />
      ))}
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
      {body?.isForm && (
        <FormFields
          endpoint={endpoint}
          fields={fieldsOf(body.content.schema)}
          draft={draft}
          onDraft={onDraft}
        />
      )}
    </>
  );
}

interface FormFieldsProps extends EditorProps {
  readonly fields: readonly ShownField[];
}

/** The value of a parameter or a field of the form, and what changes it. */
function bound(
  part: 'parameters' | 'fields',
  draft: Draft,
  { name }: ShownField,
  onDraft: EditorProps['onDraft'],
) {
  const values = draft[part];
  const onValue = (value: string) => onDraft({ ...draft, [part]: { ...values, [name]: value } });
  return { value: values[name] ?? '', onValue };
}

/** Files and the fields of the example first; the others wait behind a summary. */
function FormFields({ endpoint, fields, draft, onDraft }: FormFieldsProps) {
  const isMain = ({ schema, isRequired }: ShownField) =>
    isRequired || (schema.examples?.[0] ?? '') !== (schema.default ?? '');
  const render = (field: ShownField) =>
    fileKind(field.schema) === null ? (
      <ValueField key={field.name} field={field} {...bound('fields', draft, field, onDraft)} />
    ) : (
      <FileField key={field.name} {...{ endpoint, field, draft, onDraft }} />
    );
  const others = fields.filter((field) => !isMain(field));
  return (
    <>
      {fields.filter(isMain).map(render)}
      {others.length > 0 && (
        <details>
          <summary>{others.length} further fields</summary>
          <div class="stack">{others.map(render)}</div>
        </details>
      )}
    </>
  );
}

interface FileFieldProps extends EditorProps {
  readonly field: ShownField;
}

function FileField({ endpoint, field, draft, onDraft }: FileFieldProps) {
  const { name, schema, isRequired } = field;
  return (
    <Field
      label={name}
      hint={
        isRequired ? `Without a choice, ${sampleName(endpoint.path)} of this page is sent.` : ''
      }
    >
      {(attributes) => (
        <input
          {...attributes}
          type="file"
          multiple={fileKind(schema) === 'many'}
          onChange={({ currentTarget }) => {
            const files = [...(currentTarget.files ?? [])];
            onDraft({ ...draft, files: { ...draft.files, [name]: files } });
          }}
        />
      )}
    </Field>
  );
}

interface ValueFieldProps {
  readonly field: ShownField;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function ValueField({ field: { name, schema, isRequired }, value, onValue }: ValueFieldProps) {
  const { default: byDefault } = schema;
  if (typeof byDefault === 'boolean') {
    return (
      <Checkbox
        label={name}
        checked={(value || String(byDefault)) === 'true'}
        onChecked={(checked) => onValue(checked === byDefault ? '' : String(checked))}
      />
    );
  }
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String);
  const preset = defaultText(schema);
  if (choices) {
    const none = ['', preset === '' ? 'not given' : `${preset} (default)`] as const;
    const listed = isRequired ? choices : [none, ...choices];
    return <SelectField label={name} choices={listed} value={value} onValue={onValue} />;
  }
  return (
    <TextField
      label={name}
      required={isRequired}
      placeholder={preset === '' ? typeText(schema) : preset}
      value={value}
      onValue={onValue}
    />
  );
}
