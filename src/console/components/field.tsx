import type {
  ComponentChildren,
  InputHTMLAttributes,
  PartialInputHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact';
import { useId, useState } from 'preact/hooks';

interface LabelProps {
  readonly label: string;
  /** One sentence below the label. */
  readonly hint?: ComponentChildren;
  /** Why the value was refused: an `ApiError` whose `param` is this field, for instance. */
  readonly error?: string | undefined;
}

interface FieldProps extends LabelProps {
  /** Renders the control with these attributes. */
  readonly children: (attributes: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
  }) => ComponentChildren;
}

/** A label, its control, a hint and an error. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': Boolean(error) })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Fault id={`${id}-error`} text={error} />
    </div>
  );
}

interface FaultProps {
  readonly id?: string;
  readonly text: string | undefined;
}

/** Why a value was refused; nothing without a text. */
export function Fault({ id, text }: FaultProps) {
  if (!text) return null;
  return (
    <p class="fault" id={id} role="alert">
      {text}
    </p>
  );
}

type ValueProps = { readonly onValue: (value: string) => void; readonly value: string };

type TextFieldProps = LabelProps &
  ValueProps &
  Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'value' | 'role'>;

/** A field of one line: text, number, date. */
export function TextField({ label, hint, error, onValue, value, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <input
          type="text"
          // Each type of input has a type of attributes of its own.
          {...(rest as InputHTMLAttributes<HTMLInputElement>)}
          {...attributes}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface LateFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly onValue: (value: string) => void;
}

/** A field that gives its value when it is complete, not at each letter, since the server is asked. */
export function LateField({ label, value, placeholder, onValue }: LateFieldProps) {
  const [text, setText] = useState(value);
  const give = () => text.trim() !== value && onValue(text.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        give();
      }}
    >
      <TextField
        label={label}
        value={text}
        placeholder={placeholder}
        onValue={setText}
        onBlur={give}
      />
    </form>
  );
}

type TextAreaProps = LabelProps &
  ValueProps &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'value'>;

/** A field of several lines. */
export function TextArea({ label, hint, error, onValue, value, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <textarea
          rows={4}
          {...rest}
          {...attributes}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps extends LabelProps, ValueProps {
  /** Values, or pairs of a value and its label. */
  readonly choices: readonly (string | readonly [value: string, label: string])[];
}

export function SelectField({ label, hint, error, onValue, value, choices }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          onChange={({ currentTarget }) => onValue(currentTarget.value)}
        >
          {choices.map((choice) => {
            const [one, text] = typeof choice === 'string' ? [choice, choice] : choice;
            return (
              <option key={one} value={one} selected={one === value}>
                {text}
              </option>
            );
          })}
        </select>
      )}
    </Field>
  );
}

interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Checkbox({ label, checked, onChecked, disabled = false }: CheckboxProps) {
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={({ currentTarget }) => onChecked(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
