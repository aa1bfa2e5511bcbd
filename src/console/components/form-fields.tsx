import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { FieldControl } from './field-control.tsx';
import { type Files, type FormField, placeOf, type Values } from './form-field.ts';
import { open } from './navigation.tsx';

/** Moves the focus to the first field with a fault, once the faults are rendered. */
export function focusFault(form: HTMLElement): void {
  setTimeout(() => {
    const field = form.querySelector<HTMLElement>('[aria-invalid="true"]');
    const folded = field?.closest('details');
    if (folded) folded.open = true;
    field?.focus();
  });
}

interface FormFieldsProps {
  readonly fields: readonly FormField[];
  readonly values: Values;
  readonly files?: Files;
  readonly errorOf?: (name: string) => string | undefined;
  /** Called with the fields that change. */
  readonly onValues: (changed: Values) => void;
  readonly onFiles?: (changed: Files) => void;
  /** Class of the fields that belong together. */
  readonly class?: string;
  /** Title of the fields that are folded. */
  readonly more?: ComponentChildren;
  /** Whether the folded fields are open because one of them has a value. */
  readonly isUsed?: boolean;
}

/** The fields of a form, the rarer ones folded. */
export function FormFields(props: FormFieldsProps) {
  const { fields, values, files = {}, errorOf, onValues, onFiles, more, isUsed = false } = props;
  const folded = useRef<HTMLDetailsElement>(null);
  const rare = fields.filter(({ isRare }) => isRare);
  const isOpen = isUsed || rare.some(({ name }) => errorOf?.(name) !== undefined);
  useEffect(() => {
    // They stay open when the last value is removed, since the reader is there.
    if (isOpen) folded.current!.open = true;
  }, [isOpen]);
  const control = (field: FormField) => (
    <FieldControl
      key={field.name}
      field={field}
      value={values[field.name] ?? ''}
      files={files[field.name] ?? []}
      error={errorOf?.(field.name)}
      onValue={(value) => onValues({ [field.name]: value })}
      onFiles={(chosen) => onFiles?.({ [field.name]: chosen })}
    />
  );
  const group = (shown: readonly FormField[]) =>
    props.class ? <div class={props.class}>{shown.map(control)}</div> : shown.map(control);
  return (
    <>
      {rare.length < fields.length && group(fields.filter(({ isRare }) => !isRare))}
      {rare.length > 0 && (
        <details ref={folded}>
          <summary>{more}</summary>
          <div class={props.class ?? 'stack'}>{rare.map(control)}</div>
        </details>
      )}
    </>
  );
}

interface FilterFieldsProps extends Pick<FormFieldsProps, 'fields' | 'values' | 'onValues'> {
  readonly legend?: string;
  readonly children?: ComponentChildren;
}

interface ListFiltersProps extends Omit<FilterFieldsProps, 'onValues'> {
  /** Path of the view. */
  readonly view: string;
}

/** Filters of a list, whose values are the query of its address. */
export function ListFilters({ view, values, ...rest }: ListFiltersProps) {
  const onValues = (changed: Values) =>
    open(placeOf(view, { ...values, ...changed }), { replace: true });
  return <FilterFields {...{ values, onValues, ...rest }} />;
}

/** The fields above a list that choose what it shows. */
export function FilterFields({ legend, children, ...fields }: FilterFieldsProps) {
  return (
    <fieldset class="filters">
      <legend class="hidden">{legend ?? 'What is shown'}</legend>
      <FormFields {...fields} />
      {children}
    </fieldset>
  );
}
