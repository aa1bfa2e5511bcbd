import type {
  ComponentChildren,
  InputHTMLAttributes,
  PartialInputHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact';
import { useId } from 'preact/hooks';

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
      {error && (
        <p class="fault" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
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
