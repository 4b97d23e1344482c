//! `table!` and `choice!`.

/// Declares a struct that is read from a table of a scenario. See the [crate] for the whole syntax.
#[macro_export]
macro_rules! table {
    // If every key has a default, so does the struct.
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $fdoc:literal])* $fvis:vis $field:ident
               $( : $ty:ty = $default:expr $(, by $dep:ident)* $(, $rule:literal => $check:expr)? )?
               $( => $flat:ty )? ; )*
        }
        $( check($value:ident, $at:ident) $body:block )?
    ) => {
        $crate::__table! {
            $(#[doc = $doc])*
            $vis struct $name {
                $( $(#[doc = $fdoc])* $fvis $field
                   $( : $ty = $default $(, by $dep)* $(, $rule => $check)? )?
                   $( => $flat )? ; )*
            }
            $( check($value, $at) $body )?
        }
        impl ::std::default::Default for $name {
            fn default() -> Self {
                <Self as $crate::Table>::some()
            }
        }
    };
    ($($any:tt)*) => { $crate::__table! { $($any)* } };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __table {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $fdoc:literal])* $fvis:vis $field:ident
               $( : $ty:ty $(= $default:expr)? $(, by $dep:ident)* $(, $rule:literal => $check:expr)? )?
               $( => $flat:ty )? ; )*
        }
        $( check($value:ident, $at:ident) $body:block )?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $fdoc])* $fvis $field: $($ty)? $($flat)?, )*
        }

        impl $crate::Table for $name {
            #[allow(unused_variables)]
            fn describe_over(base: ::std::option::Option<&Self>) -> $crate::Description {
                let own = base.map(|_| <Self as $crate::Table>::some());
                #[allow(unused_mut)]
                let mut keys = ::std::vec::Vec::new();
                $(
                    #[allow(unused_variables)]
                    let doc = ::std::concat!($($fdoc, "\n"),*);
                    $( let $field: $ty = $crate::__describe_key(
                        &mut keys,
                        $crate::__key!($field),
                        doc,
                        $crate::__pick(base, &own, |table| &table.$field, $crate::__optional!($($default)?)),
                        &[$(::std::stringify!($dep)),*],
                        $crate::__optional!($($rule)?),
                    ); )?
                    $( let $field = {
                        let base = base.map(|base| &base.$field);
                        keys.extend(<$flat as $crate::Table>::describe_over(base).keys);
                        <$flat as $crate::Table>::some()
                    }; )?
                )*
                let _ = ($(&$field,)*);
                $crate::Description { doc: $crate::doc_text(::std::concat!($($doc, "\n"),*)), keys }
            }

            #[allow(unused_variables)]
            fn read_fields(
                fields: &mut $crate::Fields<'_, '_>,
                base: ::std::option::Option<&Self>,
            ) -> ::std::option::Option<Self> {
                let own = base.map(|_| <Self as $crate::Table>::some());
                $(
                    $(
                        let $field: $ty = fields.field(
                            $crate::__key!($field),
                            $crate::__pick(base, &own, |table| &table.$field, $crate::__optional!($($default)?)),
                        );
                        $( fields.unless_holds($crate::__key!($field), &$field, $rule, $check); )?
                    )?
                    $( let $field: $flat = fields.flat(base.map(|base| &base.$field)); )?
                )*
                if !fields.is_good() {
                    return ::std::option::Option::None;
                }
                #[allow(unused_mut)] // mutated only by a check
                let mut read = Self { $($field),* };
                $( fields.check(|$at| { let $value = &mut read; $body }); )?
                fields.is_good().then_some(read)
            }

            #[allow(unused_variables)]
            fn write_fields(&self, out: &mut ::std::vec::Vec<(::std::string::String, $crate::Plain)>) {
                $(
                    $( <$ty as $crate::Value>::put(&self.$field, $crate::__key!($field), out); )?
                    $( <$flat as $crate::Table>::write_fields(&self.$field, out); )?
                )*
            }

            fn some() -> Self {
                $(
                    $( let $field: $ty = $crate::__some($crate::__optional!($($default)?)); )?
                    $( let $field: $flat = <$flat as $crate::Table>::some(); )?
                )*
                Self { $($field),* }
            }
        }

        impl $crate::Value for $name {
            fn shape() -> $crate::Shape {
                $crate::Shape::Table(<Self as $crate::Table>::describe())
            }
            fn shape_over(&self) -> $crate::Shape {
                $crate::Shape::Table(<Self as $crate::Table>::describe_over(::std::option::Option::Some(self)))
            }
            fn read(node: &$crate::PlacedValue, key: &str, reader: &mut $crate::Reader) -> ::std::option::Option<Self> {
                reader.read_table(node, key, ::std::option::Option::None)
            }
            fn read_element(
                node: &$crate::PlacedValue,
                key: &str,
                index: usize,
                reader: &mut $crate::Reader,
            ) -> ::std::option::Option<Self> {
                reader.read_table(node, key, ::std::option::Option::Some(index))
            }
            fn to_plain(&self) -> $crate::Plain {
                <Self as $crate::Table>::to_plain(self)
            }
            fn some() -> Self {
                <Self as $crate::Table>::some()
            }
            fn take(
                fields: &mut $crate::Fields<'_, '_>,
                key: &'static str,
                default: ::std::option::Option<&Self>,
            ) -> $crate::Taken<Self> {
                $crate::__take_table(fields, key, default)
            }
        }
    };
}

/// Declares an enum whose variants are names in a scenario. See the [crate] for the whole syntax.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $vdoc:literal])* $variant:ident = $text:literal
               $(from $source:literal $(($outline:ident))?)? ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $( $(#[doc = $vdoc])* $variant, )+ }

        $crate::__choice_names! {
            $name [$(#[doc = $doc])*]
            $( [$(#[doc = $vdoc])*] [$text] [$($source)?] [$($($outline)?)?] [] [Self::$variant] )+
        }

        impl $crate::Value for $name {
            fn shape() -> $crate::Shape {
                $crate::Shape::Choice(Self::describe())
            }
            fn read(node: &$crate::PlacedValue, key: &str, reader: &mut $crate::Reader) -> ::std::option::Option<Self> {
                let name = $crate::__choose(node, key, &Self::NAMES, reader)?;
                $( if name == $text { return ::std::option::Option::Some(Self::$variant); } )+
                ::std::option::Option::None
            }
            fn to_plain(&self) -> $crate::Plain {
                $crate::Plain::Text(::std::string::ToString::to_string(self.name()))
            }
            fn some() -> Self {
                [$(Self::$variant),+][0]
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $vdoc:literal])* $variant:ident $(($params:ty))? = $text:literal
               $(from $source:literal $(($outline:ident))?)? ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name { $( $(#[doc = $vdoc])* $variant $(($params))?, )+ }

        $crate::__choice_names! {
            $name [$(#[doc = $doc])*]
            $( [$(#[doc = $vdoc])*] [$text] [$($source)?] [$($($outline)?)?] [$($params)?] [Self::$variant { .. }] )+
        }

        impl $name {
            /// The variant called `name`, with its own defaults; parameters without default get placeholders.
            pub fn named(name: &str) -> ::std::option::Option<Self> {
                $( if name == $text {
                    return ::std::option::Option::Some(Self::$variant $((<$params as $crate::Table>::some()))?);
                } )+
                ::std::option::Option::None
            }
        }

        impl $crate::Value for $name {
            const CHOOSES: bool = true;
            fn shape() -> $crate::Shape {
                $crate::Shape::Choice(Self::describe())
            }
            // Without neighbouring keys, as in a list: each variant with its defaults.
            fn read(node: &$crate::PlacedValue, key: &str, reader: &mut $crate::Reader) -> ::std::option::Option<Self> {
                Self::named($crate::__choose(node, key, &Self::NAMES, reader)?)
            }
            fn to_plain(&self) -> $crate::Plain {
                $crate::Plain::Text(::std::string::ToString::to_string(self.name()))
            }
            fn some() -> Self {
                Self::named(Self::NAMES[0]).expect("a name of the list")
            }
            #[allow(unused_variables, clippy::manual_map)]
            fn take(
                fields: &mut $crate::Fields<'_, '_>,
                key: &'static str,
                default: ::std::option::Option<&Self>,
            ) -> $crate::Taken<Self> {
                let written = fields.get(key).is_some();
                let taken = fields.choose(key, &Self::NAMES, default.map(Self::name));
                let chosen = match taken {
                    $crate::Taken::Good(name) => ::std::option::Option::Some(name),
                    _ => ::std::option::Option::None,
                };
                let mut value = match taken {
                    $crate::Taken::Absent => $crate::Taken::Absent,
                    _ => $crate::Taken::Bad,
                };
                // Variants that are not chosen come first, because the default returns at once.
                $( $(
                    if chosen != ::std::option::Option::Some($text) {
                        fields.leave::<$params>(key, chosen, $text);
                    }
                )? )+
                $(
                    if chosen == ::std::option::Option::Some($text) {
                        value = $crate::Taken::Good(Self::$variant $(({
                            // The default may have parameters of its own.
                            if let (false, false, ::std::option::Option::Some(default)) =
                                (written, fields.has($text), default)
                            {
                                return $crate::Taken::Good(::std::clone::Clone::clone(default));
                            }
                            let base = default.and_then(|default| match default {
                                Self::$variant(params) => ::std::option::Option::Some(params),
                                _ => ::std::option::Option::None,
                            });
                            match fields.params::<$params>(key, $text, base) {
                                ::std::option::Option::Some(params) => params,
                                ::std::option::Option::None => return $crate::Taken::Bad,
                            }
                        }))?);
                    }
                )+
                value
            }
            fn put(&self, key: &str, out: &mut ::std::vec::Vec<(::std::string::String, $crate::Plain)>) {
                out.push((::std::string::ToString::to_string(key), $crate::Value::to_plain(self)));
                $( $crate::__put_params!(self, out, $text, Self::$variant $(, $params)?); )+
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __choice_names {
    (
        $name:ident [$(#[doc = $doc:literal])*]
        $( [$(#[doc = $vdoc:literal])*] [$text:literal] [$($source:literal)?] [$($outline:ident)?]
           [$($params:ty)?] [$($pattern:tt)*] )+
    ) => {
        impl $name {
            /// All names, in the order of the declaration.
            pub const NAMES: [&'static str; [$($text),+].len()] = [$($text),+];

            /// Its name in a scenario.
            pub const fn name(&self) -> &'static str {
                match self { $( $($pattern)* => $text, )+ }
            }

            /// The variants, each with a description and its source.
            pub fn describe() -> $crate::Choice {
                $crate::Choice {
                    doc: $crate::doc_text(::std::concat!($($doc, "\n"),*)),
                    variants: ::std::vec![$( $crate::Variant {
                        name: $text,
                        doc: $crate::doc_text(::std::concat!($($vdoc, "\n"),*)),
                        source: $crate::__optional!($($source)?),
                        outline: $crate::__is_outline!($($outline)?),
                        params: $crate::__optional!($(<$params as $crate::Table>::describe())?),
                    } ),+],
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __put_params {
    ($self:ident, $out:ident, $text:literal, $($variant:ident)::+) => {};
    ($self:ident, $out:ident, $text:literal, $($variant:ident)::+, $params:ty) => {
        if let $($variant)::+(params) = $self {
            $out.push((::std::string::ToString::to_string($text), $crate::Table::to_plain(params)));
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __optional {
    () => {
        ::std::option::Option::None
    };
    ($some:expr) => {
        ::std::option::Option::Some($some)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __is_outline {
    () => {
        false
    };
    (outline) => {
        true
    };
}

/// The key of a field: its name, without the `r#` of a field named like a keyword.
#[doc(hidden)]
#[macro_export]
macro_rules! __key {
    ($field:ident) => {{
        const NAME: &str = $crate::__without_raw(::std::stringify!($field));
        NAME
    }};
}
