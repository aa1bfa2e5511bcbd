import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { Button } from '../../components/button.tsx';
import {
  Checkbox,
  Fault,
  Field,
  reporting,
  SelectField,
  TextArea,
  TextField,
  type TextFieldProps,
} from '../../components/field.tsx';
import { choicesOf, controlOf, hintOf, sliderOf } from './form.ts';
import { visible } from './intake.ts';
import { defaultOf, labelOf, type OperationField } from './operations.ts';

export interface FieldControlProps {
  readonly field: OperationField;
  readonly value: string;
  readonly files: readonly File[];
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
  readonly onFiles: (files: readonly File[]) => void;
}

/** The control for a field of an operation. */
export function FieldControl(props: FieldControlProps) {
  const { field, value, error, onValue } = props;
  const { name, required } = field;
  const label = labelOf(name);
  const common = { label, hint: hintOf(field), value, error, onValue };
  switch (controlOf(field)) {
    case 'file':
      return <FileControl {...props} />;
    case 'switch':
      return <Switch {...props} />;
    case 'choice':
      return <SelectField {...common} choices={choicesOf(field, value)} />;
    case 'document':
      return <DocumentControl {...props} />;
    case 'number':
      return (
        <PairedText
          {...common}
          inputMode={field.type === 'integer' ? 'numeric' : 'decimal'}
          placeholder={defaultOf(field) || (required ? '' : 'auto')}
          picker={<Slider {...props} />}
        />
      );
    case 'colour':
      return (
        <PairedText
          {...common}
          spellcheck={false}
          placeholder={defaultOf(field)}
          picker={
            <input
              type="color"
              aria-label={`${label}, picker`}
              value={/^#[0-9a-f]{6}/i.exec(value)?.[0] ?? '#ffffff'}
              onInput={reporting(onValue)}
            />
          }
        />
      );
    case 'list':
      return <TextArea {...common} rows={2} spellcheck={false} />;
    case 'text':
      return <TextField {...common} placeholder={defaultOf(field)} required={required} />;
  }
}

interface PairedTextProps extends TextFieldProps {
  readonly picker: ComponentChildren;
}

/** A text beside a control of the browser that sets it. */
function PairedText({ label, hint, error, onValue, picker, ...rest }: PairedTextProps) {
  return (
    <Field {...{ label, hint, error }}>
      {(attributes) => (
        <span class="row paired">
          {picker}
          <input
            type="text"
            autocomplete="off"
            {...(rest as InputHTMLAttributes<HTMLInputElement>)}
            {...attributes}
            onInput={reporting(onValue)}
          />
        </span>
      )}
    </Field>
  );
}

function Slider({ field, value, onValue }: FieldControlProps) {
  const slider = sliderOf(field);
  if (!slider) return null;
  const { rest, ...limits } = slider;
  return (
    <input
      type="range"
      aria-label={`${labelOf(field.name)}, slider`}
      {...limits}
      value={Number(value) || (value === '' ? rest : 0)}
      onInput={reporting(onValue)}
    />
  );
}

function Switch({ field, value, error, onValue }: FieldControlProps) {
  const byDefault = field.default === true;
  return (
    <div class="switch">
      <Checkbox
        label={
          <>
            {labelOf(field.name)} <span class="hint">{hintOf(field)}</span>
          </>
        }
        checked={value === '' ? byDefault : value === 'true'}
        onChecked={(checked) => onValue(checked === byDefault ? '' : String(checked))}
      />
      <Fault text={error} />
    </div>
  );
}

/** Value of the choice to write the document. */
const OWN = '(own)';

/** A document: one of the presets by its name, or a text of the reader. */
function DocumentControl({ field, value, error, onValue }: FieldControlProps) {
  const presets = field.presets!;
  const preset = presets.find(({ name }) => name === value.trim());
  const label = labelOf(field.name);
  const choose = (chosen: string) =>
    onValue(chosen === OWN ? (preset?.text ?? presets[0]!.text) : chosen);
  return (
    <>
      <SelectField
        label={label}
        hint={hintOf(field)}
        error={preset ? error : undefined}
        value={preset ? preset.name : OWN}
        choices={[...presets.map(({ name }) => name), [OWN, 'Your own, in YAML']]}
        onValue={choose}
      />
      {preset ? (
        <details>
          <summary>What {preset.name} does</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys */}
          <section class="preset" aria-label={`Recipe ${preset.name}`} tabIndex={0}>
            <pre>{preset.text}</pre>
          </section>
        </details>
      ) : (
        <TextArea
          label={`${label} in YAML`}
          class="mono"
          rows={14}
          spellcheck={false}
          value={value}
          error={error}
          onValue={onValue}
        />
      )}
    </>
  );
}

function FileControl({ field, files, error, onFiles }: FieldControlProps) {
  return (
    <Field
      label={labelOf(field.name)}
      hint={`${hintOf(field)} It is not part of the address.`}
      error={error}
    >
      {(attributes) => (
        <div class="stack">
          <input
            {...attributes}
            type="file"
            accept="image/*"
            multiple={field.repeatable}
            onChange={({ currentTarget }) => {
              const chosen = [...(currentTarget.files ?? [])];
              // The list below shows what is chosen, also after another view was open.
              currentTarget.value = '';
              onFiles(field.repeatable ? [...files, ...chosen] : chosen);
            }}
          />
          {files.length > 0 && (
            <ul>
              {files.map((file, index) => (
                <li key={index} class="row">
                  <bdi class="value">{visible(file.name)}</bdi>
                  <Button
                    kind="quiet"
                    aria-label={`Remove ${file.name}`}
                    onClick={() => onFiles(files.toSpliced(index, 1))}
                  >
                    Remove
                  </Button>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Field>
  );
}
