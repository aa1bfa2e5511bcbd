import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'size'> {
  /** `primary` for the one main action of a view, `danger` for what cannot be undone. */
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  /** Disables the button and shows that its action is in progress. */
  readonly isBusy?: boolean;
  readonly children: ComponentChildren;
}

export function Button({ kind = 'plain', isBusy = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind}`}
      aria-busy={isBusy}
      disabled={isBusy || rest.disabled}
    >
      {children}
    </button>
  );
}

interface CloseButtonProps {
  /** `Remove photo.jpg`; `Close` by default. */
  readonly label?: string;
  readonly onClick: () => void;
}

export function CloseButton({ label = 'Close', onClick }: CloseButtonProps) {
  return (
    <button type="button" class="close" aria-label={label} onClick={onClick}>
      ×
    </button>
  );
}
